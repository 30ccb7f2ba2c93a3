import csv
import hashlib
import json
import time
from collections import Counter

import pytest
from PIL import Image

from lmms_eval_food.tasks import data
from lmms_eval_food.tasks.mini import write_mini

LAST_LINE = {
    "": "仅输出最终答案，不要包含任何解释、分析、前言或总结。",
    "_en": "Output only the final answer, without any explanation, analysis, preface, or summary.",
}
NUTRIENTS = {
    "": ["卡路里", "蛋白质", "碳水化合物", "脂肪"],
    "_en": ["calories", "protein", "carbohydrates", "fat"],
}
BENCHMARKS = ("diningbench", "canteen", "culturalmenu")
LANGUAGE = pytest.mark.parametrize("suffix", ["", "_en"])


def rows(root, name):
    text = (root / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def table(root, name):
    with (root / "canteen" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def files(root):
    return {p.relative_to(root).as_posix(): p for p in root.rglob("*") if p.is_file()}


def pictures_named(root):
    """Every picture path that a table of the mini sets names, relative to the data root."""
    named = {f"canteen/images/{row['image']}" for row in table(root, "labels_flat")}
    for benchmark in ("diningbench", "culturalmenu"):
        for path in (root / benchmark).glob("*.jsonl"):
            for value in walk(rows(root, f"{benchmark}/{path.stem}")):
                if value.endswith(".jpg"):
                    named.add(f"{benchmark}/{value}")
    return named


def walk(value):
    """Every string in nested lists and objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from walk(part)


# ---- the whole


def test_two_runs_write_the_same_bytes_soon_and_small(mini_root, tmp_path):
    start = time.monotonic()
    write_mini(tmp_path)
    assert time.monotonic() - start < 10
    first, second = files(mini_root), files(tmp_path)
    assert set(first) == set(second)
    assert [name for name in first if first[name].read_bytes() != second[name].read_bytes()] == []
    assert sum(path.stat().st_size for path in second.values()) < 5_000_000


def test_writing_over_an_older_mini_set(mini_root, tmp_path):
    write_mini(tmp_path)
    (tmp_path / "canteen/labels_flat.csv").write_text("old")
    write_mini(tmp_path)
    again = (tmp_path / "canteen/labels_flat.csv").read_bytes()
    assert again == (mini_root / "canteen/labels_flat.csv").read_bytes()


def test_the_files_are_those_of_the_data_root(mini_root):
    names = {name for name in files(mini_root) if not name.endswith(".jpg")}
    dining = {f"{t}{s}.jsonl" for t in ("classification", "nutrition", "vqa") for s in ("", "_en")}
    assert names == (
        {f"diningbench/{name}" for name in dining}
        | {f"canteen/{name}.csv" for name in ("labels_flat", "image_participants")}
        | {f"canteen/prompts/{name}.txt" for name in ("system", "user", "repair")}
        | {f"culturalmenu/{name}.jsonl" for name in ("dishes", "binary", "mc", "region")}
        | {f"{benchmark}/prepared.json" for benchmark in BENCHMARKS}
    )


def test_every_picture_is_named_exists_and_opens(mini_root):
    pictures = {name: path for name, path in files(mini_root).items() if name.endswith(".jpg")}
    assert set(pictures) == pictures_named(mini_root)
    assert len(pictures) == 24 * 4 + 20 + 30 * 6
    for path in pictures.values():
        with Image.open(path) as image:
            image.load()
            assert (image.format, image.mode, image.size) == ("JPEG", "RGB", (160, 120))


def test_no_two_pictures_are_the_same(mini_root):
    contents = [path.read_bytes() for name, path in files(mini_root).items() if ".jpg" in name]
    assert len(set(contents)) == len(contents)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_prepared_file(mini_root, benchmark):
    folder = mini_root / benchmark
    digest = hashlib.sha256()
    for name in sorted(name for name in files(folder) if name.endswith((".jsonl", ".csv", ".txt"))):
        digest.update(name.encode() + (folder / name).read_bytes())
    assert json.loads((folder / "prepared.json").read_text()) == {
        "benchmark": benchmark,
        "source": "lmms-eval-food mini",
        "revision": "1",
        "kind": "mini",
        "placeholders": False,
        "checksum": digest.hexdigest()[:12],
    }


@pytest.mark.parametrize(
    ("benchmark", "name", "count"),
    [
        ("diningbench", "classification", 24),
        ("diningbench", "classification_en", 24),
        ("diningbench", "nutrition", 24),
        ("diningbench", "nutrition_en", 24),
        ("diningbench", "vqa", 24),
        ("diningbench", "vqa_en", 24),
        ("canteen", "portions", 20),
        ("culturalmenu", "dishes", 30),
        ("culturalmenu", "binary", 300),
        ("culturalmenu", "mc", 420),
        ("culturalmenu", "region", 16),
    ],
)
def test_the_tables_load(mini_root, monkeypatch, benchmark, name, count):
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(mini_root))
    loaded = data.load(benchmark, name)
    assert len(loaded) == count
    assert len(set(loaded["dish_id" if name == "dishes" else "id"])) == count


# ---- DiningBench


@LANGUAGE
def test_classification_rows(mini_root, suffix):
    table = rows(mini_root, f"diningbench/classification{suffix}")
    for number, row in enumerate(table, 1):
        assert set(row) == {"id", "prompt", "ground_truth", "standard_image", "user_images"}
        assert row["id"] == f"{number:05d}"
        assert row["standard_image"] == f"images/{number:05d}_0.jpg"
        assert row["user_images"] == [f"images/{number:05d}_{view}.jpg" for view in (1, 2, 3)]
        _, *options, last = row["prompt"].split("\n")
        assert [option[:3] for option in options] == [f"{letter}. " for letter in "ABCDEFGH"]
        assert len({option[3:] for option in options}) == 8
        assert last == LAST_LINE[suffix]
    assert Counter(row["ground_truth"] for row in table) == dict.fromkeys("ABCDEFGH", 3)


def right_option(row):
    letter = f"\n{row['ground_truth']}. "
    return row["prompt"].split(letter)[1].split("\n")[0]


def test_the_right_option_is_the_dish(mini_root):
    chinese = rows(mini_root, "diningbench/classification")
    english = rows(mini_root, "diningbench/classification_en")
    assert [row["ground_truth"] for row in chinese] == [row["ground_truth"] for row in english]
    names = [right_option(row) for row in chinese]
    nutrition = rows(mini_root, "diningbench/nutrition")
    assert names == [row["ground_truth"]["精炼菜品名称"] for row in nutrition]
    assert len(set(names)) == 24
    assert (names[0], right_option(english[0])) == ("红烧牛肉面", "Braised Beef Noodle Soup")
    assert (names[23], right_option(english[23])) == ("红豆双皮奶", "Red Bean Milk Custard")


def test_options_are_dishes_of_the_same_kind(mini_root):
    for row in rows(mini_root, "diningbench/classification_en")[:8]:
        options = [line for line in row["prompt"].split("\n") if line[1:3] == ". "]
        assert all("Noodle" in option for option in options)


@LANGUAGE
def test_nutrition_rows(mini_root, suffix):
    keys = NUTRIENTS[suffix]
    for row in rows(mini_root, f"diningbench/nutrition{suffix}"):
        assert set(row) == {"id", "prompt", "ground_truth", "standard_image", "user_images"}
        assert [key for key in row["ground_truth"] if key != "精炼菜品名称"] == keys
        question, last = row["prompt"].split("\n")
        form = json.loads(question[question.index("{") :])
        assert list(form) == keys
        assert last == LAST_LINE[suffix]
        energy, protein, carbohydrates, fat = (row["ground_truth"][key] for key in keys)
        assert energy == pytest.approx(4 * protein + 4 * carbohydrates + 9 * fat, abs=0.5)
        assert 30 <= energy <= 900


def test_nutrition_is_the_same_in_both_languages(mini_root):
    chinese, english = (
        [
            [row["ground_truth"][key] for key in NUTRIENTS[suffix]]
            for row in rows(mini_root, f"diningbench/nutrition{suffix}")
        ]
        for suffix in ("", "_en")
    )
    assert chinese == english
    zeros = [[value == 0 for value in row[1:]] for row in english]
    assert sorted(row for row in zeros if any(row)) == [[False, False, True], [True, False, False]]


@LANGUAGE
def test_vqa_rows(mini_root, suffix):
    table = rows(mini_root, f"diningbench/vqa{suffix}")
    yes, no = ("是", "否") if suffix == "" else ("Yes", "No")
    for row in table:
        assert set(row) == {"id", "prompt", "ground_truth", "images"}
        question, last = row["prompt"].split("\n")
        assert question[-1] in "？?"
        assert last == LAST_LINE[suffix]
        assert 0 < len(row["ground_truth"]) <= 20
    answers = Counter(row["ground_truth"] for row in table)
    assert (answers[yes], answers[no]) == (7, 5)
    assert Counter(len(row["images"]) for row in table) == {1: 21, 2: 3}
    assert len({row["prompt"] for row in table}) == 24


# ---- canteen


def test_trays(mini_root):
    labels = table(mini_root, "labels_flat")
    assert list(labels[0]) == ["image", "food", "portion"]
    sizes = Counter(row["image"] for row in labels)
    assert list(sizes) == [f"{number:03d}.jpg" for number in range(1, 21)]
    assert (min(sizes.values()), max(sizes.values())) == (1, 7)
    assert all(20 <= float(row["portion"]) <= 400 for row in labels)
    assert all(row["food"].strip() == row["food"] != "" for row in labels)


def test_foods_recur_and_do_not(mini_root):
    written = [row["food"] for row in table(mini_root, "labels_flat")]
    counts = Counter(food.lower() for food in written)
    assert counts["bread roll"] > 8
    assert sum(count == 1 for count in counts.values()) > 10
    assert len(set(written)) > len(counts)
    assert any("," in food for food in written)


def test_participants(mini_root):
    people = table(mini_root, "image_participants")
    assert list(people[0]) == ["resized_filename", "participant_id"]
    assert [row["resized_filename"] for row in people] == [
        f"{number:03d}.jpg" for number in range(1, 21)
    ]
    counts = Counter(row["participant_id"] for row in people)
    assert counts == {f"participant_{number}": 5 for number in range(1, 5)}


@pytest.mark.parametrize("name", ["user", "repair"])
def test_prompts_ask_for_the_answer_form(mini_root, name):
    text = (mini_root / f"canteen/prompts/{name}.txt").read_text("utf-8")
    form = text[text.index("{") : text.index("]}") + 2]
    assert list(json.loads(form)["food_items"][0]) == ["name", "portion_estimate", "confidence"]


# ---- CulturalMenuBench


def test_dishes(mini_root):
    dishes = rows(mini_root, "culturalmenu/dishes")
    for number, dish in enumerate(dishes, 1):
        assert list(dish) == [
            "dish_id", "dish_name", "category", "region", "language", "raw_material",
            "practice_text", "dish_image", "practice_images",
        ]  # fmt: skip
        assert dish["dish_id"] == f"d{number:03d}"
        assert dish["dish_image"] == f"images/d{number:03d}_0.jpg"
        assert len(dish["practice_images"]) == 5
        assert [f"{n}. " in dish["practice_text"] for n in range(1, 7)] == [True] * 5 + [False]
        assert (dish["region"] is not None) == (dish["language"] == "zh")
    for field in ("dish_name", "raw_material", "practice_text"):
        assert len({dish[field] for dish in dishes}) == 30


def test_dishes_by_language_and_region(mini_root):
    dishes = rows(mini_root, "culturalmenu/dishes")
    languages = Counter(dish["language"] for dish in dishes)
    assert languages.pop("zh") == 8
    assert set(languages) == {"en", "es", "fr", "hi", "it", "th", "ja", "ko", "vi"}
    assert set(languages.values()) == {2, 3}
    regions = {dish["region"] for dish in dishes} - {None}
    assert len(regions) == 7
    assert {"川菜", "湘菜"} < regions
    assert len({dish["category"] for dish in dishes}) == 11


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("binary", {"id", "relation", "language", "dish_ids", "prompt", "answer"}),
        ("mc", {"id", "relation", "language", "dish_id", "images", "prompt", "options", "answer"}),
        ("region", {"id", "dish_id", "dish_name", "evidence", "images", "options", "answer"}),
    ],
)
def test_question_rows(mini_root, name, fields):
    table = rows(mini_root, f"culturalmenu/{name}")
    ids = {dish["dish_id"] for dish in rows(mini_root, "culturalmenu/dishes")}
    assert len({row["id"] for row in table}) == len(table)
    for row in table:
        # A yes/no question has its pictures in one group or in two.
        pictures = {"images", "image_groups"} & set(row) if name == "binary" else set()
        assert len(pictures) == (1 if name == "binary" else 0)
        assert set(row) - pictures == fields
        assert {row["dish_id"]} <= ids if "dish_id" in row else set(row["dish_ids"]) <= ids
