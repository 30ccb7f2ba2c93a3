from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.tasks.culturalmenu.binary import balanced_answers
from lmms_eval_food.tasks.culturalmenu.build import (
    balance_report,
    build_binary,
    build_mc,
    build_region,
)
from lmms_eval_food.tasks.culturalmenu.prompts import (
    BINARY_RELATIONS,
    LANGUAGES,
    MC_RELATIONS,
    binary_prompt,
    category_key,
    category_label,
    mc_prompt,
    normalise_text,
)
from lmms_eval_food.tasks.mini.cultural import mini_dishes

BUILDERS = (build_binary, build_mc, build_region)
COUNTRY = {
    "zh": "中国", "en": "Britain", "es": "España", "fr": "France", "hi": "भारत", "it": "Italia",
    "th": "ไทย", "ja": "日本", "ko": "한국", "vi": "Việt Nam",
}  # fmt: skip
# Typed from design and paper, not read from families.yaml.
FAMILIES = [
    {"川菜", "湘菜", "贵州菜"},
    {"粤菜", "闽菜", "客家菜", "台湾菜"},
    {"鲁菜", "京菜", "东北菜", "豫菜"},
    {"浙菜", "淮扬菜", "徽菜", "赣菜"},
    {"西北菜"},
]
CUISINES = sorted(set().union(*FAMILIES))


def dish(number, language="en", **fields):
    """A dish whose every field differs from every other dish's."""
    name = f"d{number:03d}"
    return {
        "dish_id": name,
        "dish_name": f"name {number}",
        "category": COUNTRY[language],
        "region": None,
        "language": language,
        "raw_material": f"food {number}",
        "practice_text": f"1. cook {number}",
        "dish_image": f"images/{name}_0.jpg",
        "practice_images": [f"images/{name}_{n}.jpg" for n in range(1, 6)],
    } | fields


def plain_table(sizes):
    """Dishes by language, all distinct; every language its own country."""
    languages = [language for language, size in sizes.items() for _ in range(size)]
    return [dish(number, language) for number, language in enumerate(languages)]


def own_value(row, field):
    if field == "dish_image":
        return [row["dish_image"]]
    return row["practice_images" if field == "practice_image" else field]


# Few distinct texts, so that equal ones, also equal but for case and spaces, are frequent.
TEXTS = st.sampled_from(["", "rice", "Rice ", "RICE", "fish  soup", "fish soup", "é", "e\u0301"])
ANY_DISH = st.builds(
    dish,
    number=st.just(0),
    language=st.sampled_from(["zh", "en", "it"]),
    dish_name=TEXTS,
    raw_material=TEXTS,
    practice_text=TEXTS,
    category=st.sampled_from(["中国", "China", "Italia", "Peru", "peru ", "", None]),
    region=st.sampled_from([*CUISINES, "北京菜", "滇菜", "", None]),
    dish_image=st.sampled_from(["", "a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"]),
    practice_images=st.lists(st.sampled_from(["p.jpg", "q.jpg"]), max_size=2),
)
ANY_TABLE = st.lists(ANY_DISH, max_size=12).map(
    lambda rows: [row | {"dish_id": f"d{n}"} for n, row in enumerate(rows)]
)
SIZES = st.dictionaries(st.sampled_from(LANGUAGES), st.integers(2, 6), min_size=2, max_size=5)


# ---- yes and no in equal numbers


@pytest.mark.parametrize(
    ("by_language", "one_only", "turn", "answers"),
    [
        ({"en": "ab"}, {}, 0, {"a": "yes", "b": "no"}),
        ({"en": "abc", "it": "d"}, {}, 0, {"a": "yes", "b": "yes", "c": "no", "d": "no"}),
        ({"en": "abc", "it": "d"}, {}, 1, {"a": "yes", "b": "no", "c": "no", "d": "yes"}),
        ({"en": "abc"}, {}, 0, {"a": "yes", "b": "no"}),
        ({"en": "ab"}, {"a": "yes", "b": "yes"}, 0, {}),
        ({"en": "ab"}, {"a": "no"}, 0, {"a": "no", "b": "yes"}),
        ({"en": "a", "it": "b"}, {"a": "yes", "b": "no"}, 0, {"a": "yes", "b": "no"}),
        # Three yes and one no: two yes go, from the language that has more of them.
        ({"en": "a", "it": "bcd"}, {"b": "yes", "c": "yes", "a": "yes", "d": "no"}, 0,
         {"b": "yes", "d": "no"}),
        ({}, {}, 0, {}),
    ],
)  # fmt: skip
def test_answers_by_hand(by_language, one_only, turn, answers):
    ids = "".join(by_language.values())
    possible = {i: {one_only[i]} if i in one_only else {"yes", "no"} for i in ids}
    assert balanced_answers(by_language, possible, turn) == answers


@given(SIZES)
@settings(max_examples=60, deadline=None)
def test_languages_are_balanced_too(sizes):
    items = build_binary(plain_table(sizes))
    report = balance_report(items)
    total = sum(sizes.values())
    for relation in BINARY_RELATIONS:
        assert report[relation]["all"] == {"yes": total // 2, "no": total // 2}
        for counts in report[relation].values():
            assert abs(counts.get("yes", 0) - counts.get("no", 0)) <= 1


@given(ANY_TABLE, st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_binary_questions_of_any_table(table, seed):
    rows = {row["dish_id"]: row for row in table}
    items = build_binary(table, seed)
    assert len({item["id"] for item in items}) == len(items)
    for relation in BINARY_RELATIONS:
        answers = Counter(item["answer"] for item in items if item["relation"] == relation)
        assert answers["yes"] == answers["no"]
    for item in items:
        shown, asked = item["relation"].split("-")
        row = rows[item["dish_ids"][0]]
        assert item["language"] == row["language"]
        if shown == asked:
            check_pair(item, row, rows[item["dish_ids"][1]], shown)
        else:
            check_value(item, row, table, shown, asked)


@given(ANY_TABLE, st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_no_question_has_two_answers(table, seed):
    answers = {}
    for item in build_binary(table, seed):
        groups = item.get("image_groups")
        shown = frozenset(map(tuple, groups)) if groups else tuple(item["images"])
        prompt = normalise_text(item["prompt"])
        answers.setdefault((item["relation"], shown, prompt), set()).add(item["answer"])
    assert [key for key, found in answers.items() if len(found) > 1] == []


def test_a_shared_picture_has_no_wrong_value_of_either_dish():
    # Dishes 1 and 2 share a photo; only dish 3 can lend them a wrong value.
    table = [dish(n, "zh", dish_image=f"images/{max(n, 2)}.jpg") for n in (1, 2, 3)]
    for seed in range(20):
        for item in build_binary(table, seed):
            if item["relation"] in {"dish_image-dish_name", "dish_image-raw_material"}:
                asked = next(n for n in (1, 2, 3) if f" {n}" in item["prompt"])
                shared = item["dish_ids"] != ["d003"]
                assert item["answer"] == ("yes" if (asked != 3) == shared else "no")


def test_a_shared_picture_of_two_countries_is_compared_with_none():
    table = [
        dish(1, "en", dish_image="images/x.jpg"),
        dish(2, "it", dish_image="images/x.jpg"),
        *(dish(n, "en") for n in (3, 4)),
        *(dish(n, "it") for n in (5, 6)),
    ]
    for seed in range(20):
        pairs = [i for i in build_binary(table, seed) if i["relation"] == "dish_image-dish_image"]
        assert pairs
        assert not any(["images/x.jpg"] in item["image_groups"] for item in pairs)


def test_two_names_of_one_country_make_no_wrong_answer():
    table = [
        dish(n, "en", category=name)
        for n, name in enumerate(["UK", "Britain", "英国", "United Kingdom"])
    ]
    relations = {item["relation"] for item in build_binary(table)}
    assert not relations & {
        "dish_image-category", "practice_image-category",
        "dish_image-dish_image", "practice_image-practice_image",
    }  # fmt: skip


def check_pair(item, row, other, field):
    assert item["image_groups"] == [own_value(row, field), own_value(other, field)]
    assert all(item["image_groups"])
    assert item["image_groups"][0] != item["image_groups"][1]
    assert "images" not in item
    same = category_key(row["category"]) == category_key(other["category"])
    assert item["answer"] == ("yes" if same else "no")
    assert item["prompt"] == binary_prompt(item["relation"], row["language"])


def check_value(item, row, table, shown, asked):
    assert item["images"] == own_value(row, shown) != []
    assert item["dish_ids"] == [row["dish_id"]]
    fold = category_key if asked == "category" else normalise_text
    language = row["language"]
    wanted = {
        other[asked]
        for other in table
        if other[asked]
        and (fold(other[asked]) == fold(row[asked])) == (item["answer"] == "yes")
        and (asked == "category" or other["language"] == language)
    }
    name = category_label if asked == "category" else lambda value, language: value
    assert item["prompt"] in {
        binary_prompt(item["relation"], language, name(value, language)) for value in wanted
    }


def test_a_wrong_name_comes_from_the_same_category():
    table = [dish(n, "es", category="México" if n % 2 else "España") for n in range(8)]
    for item in build_binary(table):
        if item["relation"] == "dish_image-dish_name":
            number = int(item["prompt"].split("name ")[1].split("?")[0])
            assert number % 2 == int(item["dish_ids"][0][1:]) % 2


def test_a_wrong_category_is_named_in_the_language_of_the_question():
    items = build_binary(plain_table({"it": 4, "ja": 4}))
    asked = {
        item["language"]: item["prompt"]
        for item in items
        if item["relation"] == "dish_image-category" and item["answer"] == "no"
    }
    assert "Giappone" in asked["it"]
    assert "イタリア" in asked["ja"]


# ---- four options


@given(ANY_TABLE, st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_choice_questions_of_any_table(table, seed):
    rows = {row["dish_id"]: row for row in table}
    items = build_mc(table, seed)
    assert len({item["id"] for item in items}) == len(items)
    for item in items:
        given_field, asked = item["relation"].split("->")
        row = rows[item["dish_id"]]
        assert item["options"]["ABCD".index(item["answer"])] == own_value(row, asked)
        folded = [
            normalise_text(option) if isinstance(option, str) else tuple(option)
            for option in item["options"]
        ]
        assert len(set(folded)) == 4
        assert all(folded)
        pictured = given_field.endswith("_image")
        assert item["images"] == (own_value(row, given_field) if pictured else [])
        value = "" if pictured else row[given_field]
        assert item["prompt"] == mc_prompt(item["relation"], row["language"], value)
    for relation in MC_RELATIONS:
        letters = Counter(item["answer"] for item in items if item["relation"] == relation)
        spread = [letters[letter] for letter in "ABCD"]
        assert max(spread) - min(spread) <= 1


def test_options_come_from_near_dishes_first():
    near = [dish(n, "es", category="México") for n in range(3)]
    same_language = [dish(n, "es") for n in range(3, 6)]
    far = [dish(n, "ja") for n in range(6, 30)]
    items = build_mc(near + same_language + far)
    first = [item for item in items if item["dish_id"] == "d000"]
    assert len(first) == 14
    for item in first:
        if item["relation"].endswith("->dish_name"):
            numbers = {int(option.split()[1]) for option in item["options"]}
            assert {0, 1, 2} < numbers
            assert numbers - {0, 1, 2} <= {3, 4, 5}


def test_a_dish_of_the_same_name_is_no_wrong_option():
    table = [dish(n, dish_name="stew" if n < 2 else f"name {n}") for n in range(5)]
    for item in build_mc(table):
        if item["relation"] == "dish_name->dish_image" and item["dish_id"] == "d000":
            assert ["images/d001_0.jpg"] not in item["options"]
            break
    else:
        pytest.fail("no question about d000")


def test_an_option_of_a_dish_that_shares_the_name_is_not_wrong_in_another():
    # Dish 2's photo is also dish 1's, whose name dish 0 has: it would be right for dish 0 as well.
    table = [
        dish(0, dish_name="stew"),
        dish(1, dish_name="stew", dish_image="images/x.jpg"),
        dish(2, dish_image="images/x.jpg"),
        *(dish(n) for n in (3, 4, 5)),
    ]
    for seed in range(20):
        for item in build_mc(table, seed):
            if item["relation"] == "dish_name->dish_image" and item["dish_id"] == "d000":
                assert ["images/x.jpg"] not in item["options"]


def test_options_that_look_alike_are_one():
    names = ["ＡＢ汤", "AB汤", "AB汤\u200b", "ab汤 ", "粥"]
    table = [dish(n, dish_name=name) for n, name in enumerate(names)]
    assert not [i for i in build_mc(table) if i["relation"] == "dish_image->dish_name"]


def test_three_dishes_make_no_choice_question():
    assert build_mc(plain_table({"en": 3})) == []


# ---- sub-region


@given(ANY_TABLE, st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_region_questions_of_any_table(table, seed):
    rows = {row["dish_id"]: row for row in table}
    items = build_region(table, seed)
    for item in items:
        row = rows[item["dish_id"]]
        truth = item["options"]["ABCD".index(item["answer"])]
        assert truth == {"北京菜": "京菜"}.get(row["region"], row["region"])
        assert len(set(item["options"])) == 4
        assert set(item["options"]) <= set(CUISINES)
        family = next(members for members in FAMILIES if truth in members)
        kin = len(family & set(item["options"])) - 1
        assert kin == (1 if len(family) > 1 else 0)
        assert item["images"] == own_value(row, item["evidence"]) != []
        assert item["dish_name"] == row["dish_name"]
    for evidence in ("dish_image", "practice_image"):
        letters = Counter(item["answer"] for item in items if item["evidence"] == evidence)
        spread = [letters[letter] for letter in "ABCD"]
        assert max(spread) - min(spread) <= 1
        able = [
            row for row in table
            if row["region"] in {*CUISINES, "北京菜"} and own_value(row, evidence) not in ([], [""])
        ]  # fmt: skip
        assert sum(letters.values()) == len(able)


def test_both_kinds_of_evidence_offer_the_same_cuisines():
    table = [dish(n, "zh", region=cuisine) for n, cuisine in enumerate(CUISINES)]
    options = {}
    for item in build_region(table):
        options.setdefault(item["dish_id"], []).append(set(item["options"]))
    assert len(options) == 16
    assert all(first == second for first, second in options.values())


# ---- all three


@pytest.mark.parametrize("build", BUILDERS)
def test_no_dishes(build):
    assert build([]) == []


@pytest.mark.parametrize("build", [build_binary, build_mc])
def test_one_dish_has_nothing_to_be_told_from(build):
    assert build([dish(1)]) == []


@pytest.mark.parametrize("build", BUILDERS)
def test_the_same_id_twice(build):
    with pytest.raises(ValueError, match="'d001' comes twice"):
        build([dish(1), dish(1)])


@pytest.mark.parametrize("build", BUILDERS)
def test_a_language_outside_the_ten(build):
    with pytest.raises(ValueError, match="'de' is none of the ten"):
        build([dish(1) | {"language": "de"}])


@pytest.mark.parametrize("build", BUILDERS)
@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_the_order_of_the_table_does_not_matter(build, data):
    table = data.draw(ANY_TABLE)
    shuffled = data.draw(st.permutations(table))
    first, second = build(table), build(shuffled)
    assert sorted(first, key=lambda item: item["id"]) == sorted(second, key=lambda item: item["id"])


@pytest.mark.parametrize("build", BUILDERS)
def test_another_seed_makes_other_questions(build):
    table = [dish(n, "zh", region=cuisine) for n, cuisine in enumerate(CUISINES)]
    assert build(table, 1) == build(table, 1)
    assert build(table, 1) != build(table, 2)


def test_one_more_dish_changes_few_yes_and_no():
    table = plain_table(dict.fromkeys(["zh", "en", "fr", "th"], 10))
    before = {item["id"]: item for item in build_binary(table)}
    after = {item["id"]: item for item in build_binary([*table, dish(40, "en")])}
    for relation in BINARY_RELATIONS:
        changed = [
            name
            for name, item in before.items()
            if item["relation"] == relation
            and (name not in after or after[name]["answer"] != item["answer"])
        ]
        assert len(changed) <= 2
    other_languages = [name for name in before if before[name]["language"] != "en"]
    same = sum(before[name] == after.get(name) for name in other_languages)
    assert same >= 0.95 * len(other_languages)


def test_one_more_dish_changes_few_choices():
    table = plain_table(dict.fromkeys(["zh", "en", "fr", "th"], 10))
    before = {item["id"]: item for item in build_mc(table)}
    after = {item["id"]: item for item in build_mc([*table, dish(40, "en")])}
    for relation in MC_RELATIONS:
        mine = [name for name, item in before.items() if item["relation"] == relation]
        assert sum(after[name]["answer"] != before[name]["answer"] for name in mine) <= 3


def test_report_by_hand():
    items = [
        {"relation": "r", "language": "en", "answer": "yes"},
        {"relation": "r", "language": "it", "answer": "yes"},
        {"relation": "s", "language": "en", "answer": "no"},
        {"evidence": "dish_image", "answer": "C"},
    ]
    assert balance_report(items) == {
        "all": {"all": {"yes": 2, "no": 1, "C": 1}, "en": {"yes": 1, "no": 1}, "it": {"yes": 1},
                "zh": {"C": 1}},
        "r": {"all": {"yes": 2}, "en": {"yes": 1}, "it": {"yes": 1}},
        "s": {"all": {"no": 1}, "en": {"no": 1}},
        "dish_image": {"all": {"C": 1}, "zh": {"C": 1}},
    }  # fmt: skip


def test_report_of_nothing():
    assert balance_report([]) == {}


# ---- the mini set's questions


@pytest.mark.parametrize("relation", BINARY_RELATIONS)
def test_mini_binary_counts(relation):
    report = balance_report(build_binary(mini_dishes()))
    assert report[relation]["all"] == {"yes": 15, "no": 15}
    languages = {
        language: counts for language, counts in report[relation].items() if language != "all"
    }
    assert set(languages) == set(LANGUAGES)
    assert all(
        abs(counts.get("yes", 0) - counts.get("no", 0)) <= 1 for counts in languages.values()
    )


@pytest.mark.parametrize("relation", MC_RELATIONS)
def test_mini_choice_counts(relation):
    counts = balance_report(build_mc(mini_dishes()))[relation]["all"]
    assert sorted(counts.values()) == [7, 7, 8, 8]


@pytest.mark.parametrize("evidence", ["dish_image", "practice_image"])
def test_mini_region_counts(evidence):
    counts = balance_report(build_region(mini_dishes()))[evidence]["all"]
    assert counts == {"A": 2, "B": 2, "C": 2, "D": 2}


def test_no_mini_question_gives_its_answer_away():
    dishes = {row["dish_id"]: row for row in mini_dishes()}
    for item in build_binary(list(dishes.values())):
        asked = item["relation"].split("-")[1]
        if item["answer"] == "no" and not asked.endswith("_image"):
            assert dishes[item["dish_ids"][0]][asked] not in item["prompt"]
    for item in build_mc(list(dishes.values())):
        right = item["options"]["ABCD".index(item["answer"])]
        assert isinstance(right, list) or right not in item["prompt"]
        assert not set(item["images"]) & {path for option in item["options"] for path in option}
