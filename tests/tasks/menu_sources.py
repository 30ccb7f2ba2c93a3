"""Made-up sources of CulturalMenuBench: the same two dishes and five questions in four layouts."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# The rows that every layout stands for, but for the questions' ids.
D1 = {
    "dish_id": "d1",
    "dish_name": "麻婆豆腐",
    "category": "中国",
    "region": "川菜",
    "language": "zh",
    "raw_material": "豆腐, 牛肉",
    "practice_text": "切。\n炒。",
    "dish_image": "images/m1/d1_0.jpg",
    "practice_images": ["images/m1/d1_1.jpg", "images/m1/d1_2.jpg"],
}
D2 = {
    "dish_id": "d2",
    "dish_name": "pea soup",
    "category": "Britain",
    "region": None,
    "language": "en",
    "raw_material": "peas, ham",
    "practice_text": "Soak.\nBoil.",
    "dish_image": "images/m2/d2_0.jpg",
    "practice_images": ["images/m2/d2_1.jpg"],
}
BINARY = [
    {
        "relation": "dish_image-dish_name",
        "language": "zh",
        "dish_ids": ["d1"],
        "images": ["images/m1/d1_0.jpg"],
        "prompt": "是麻婆豆腐吗？",
        "answer": "yes",
    },
    {
        "relation": "practice_image-practice_image",
        "language": "en",
        "dish_ids": ["d2", "d1"],
        "image_groups": [["images/m2/d2_1.jpg"], ["images/m1/d1_1.jpg", "images/m1/d1_2.jpg"]],
        "prompt": "The same cuisine?",
        "answer": "no",
    },
]
MC = [
    {
        "relation": "dish_image->dish_name",
        "language": "zh",
        "dish_id": "d1",
        "images": ["images/m1/d1_0.jpg"],
        "prompt": "叫什么？",
        "options": ["回锅肉", "宫保鸡丁", "麻婆豆腐", "水煮鱼"],
        "answer": "C",
    },
    {
        "relation": "dish_name->dish_image",
        "language": "en",
        "dish_id": "d2",
        "images": [],
        "prompt": "Which is pea soup?",
        "options": [
            ["images/m2/d2_0.jpg"],
            ["images/m1/d1_0.jpg"],
            ["images/m1/d1_1.jpg"],
            ["images/m1/d1_2.jpg"],
        ],
        "answer": "A",
    },
]
REGION = [
    {
        "dish_id": "d1",
        "dish_name": "麻婆豆腐",
        "evidence": "practice_image",
        "images": ["images/m1/d1_1.jpg", "images/m1/d1_2.jpg"],
        "options": ["湘菜", "粤菜", "鲁菜", "川菜"],
        "answer": "D",
    }
]
EXPECTED: dict[str, list[dict[str, Any]]] = {
    "dishes": [D1, D2],
    "binary": BINARY,
    "mc": MC,
    "region": REGION,
}
MEDIA = {
    f"{folder}/{name}.jpg": f"picture {name}".encode()
    for folder, names in (("m1", ("d1_0", "d1_1", "d1_2")), ("m2", ("d2_0", "d2_1")))
    for name in names
}


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _lines(rows: Sequence[object]) -> bytes:
    return b"".join(_json(row) + b"\n" for row in rows)


def _table(rows: Sequence[Mapping[str, object]], delimiter: str = ",") -> bytes:
    text = io.StringIO(newline="")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, columns, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode("utf-8-sig")


def _names(paths: Sequence[str]) -> list[str]:
    return [path.rpartition("/")[2] for path in paths]


def usual_names() -> dict[str, bytes]:
    """Files and fields as the packaged map expects them."""
    first, second = MC
    return {
        "meta/dishes.json": _json([{**D1, "raw_material": ["豆腐", "牛肉"]}, D2]),
        "meta/binary.jsonl": _lines([{**BINARY[0], "answer": "是"}, {**BINARY[1], "answer": "No"}]),
        "meta/mc_chinese.json": _json([{**first, "images": "m1/d1_0.jpg"}]),
        "meta/mc_foreign.json": _json([second]),
        "meta/sub_region.json": _json({"practice": [{**REGION[0], "evidence": None}]}),
        "meta/README.md": b"about",
        "meta/__MACOSX/dishes.json": b"no table",
    }


SPREADSHEET_MAP = """
tables:
  dishes:
    files: sheets/*.csv
    fields:
      dish_id: 编号
      dish_name: 菜名
      category: 国家
      region: 菜系
      language: {from: 国家, values: {中国: zh, Britain: en}}
      raw_material: 食材
      practice_text: 做法
      dish_image: 成品图
      practice_images: {from: 步骤图, separator: ";"}
  binary:
    files: [questions_*.tsv]
    fields:
      id: $place
      relation: {from: $file, values: {questions_1: dish_image-dish_name,
                 questions_2: practice_image-practice_image}}
      dish_ids: {each: [dish, second dish]}
      images: image
      image_groups: {each: [left, right], separator: "|"}
      prompt: text
      answer: {from: truth, values: {T: yes, F: no}}
  mc:
    files: [choices.csv]
    fields:
      id: nr
      relation: kind
      dish_id: dish
      images: image
      prompt: text
      options: {each: [first, second, third, fourth]}
      answer: {from: right, values: {first: A, third: C}}
  region:
    files: [cuisines.csv]
    fields:
      id: $place
      dish_id: dish
      evidence: shows
      images: {from: images, separator: " "}
      options: {from: cuisines, separator: "、"}
      answer: right
"""


def spreadsheets() -> dict[str, bytes]:
    """CSV and TSV tables with lists in cells; file names for pictures, languages left out."""
    dishes = [
        {
            "编号": dish["dish_id"],
            "菜名": dish["dish_name"],
            "国家": dish["category"],
            "菜系": dish["region"] or "",
            "食材": dish["raw_material"],
            "做法": dish["practice_text"],
            "成品图": _names([str(dish["dish_image"])])[0],
            "步骤图": "; ".join(_names(list(dish["practice_images"]))),
        }
        for dish in (D1, D2)
    ]
    one = {"dish": "d1", "image": "d1_0", "text": BINARY[0]["prompt"], "truth": "T"}
    two = {
        "dish": "d2",
        "second dish": "d1",
        "text": BINARY[1]["prompt"],
        "truth": "F",
        "left": "d2_1.jpg",
        "right": "d1_1.jpg|d1_2.jpg",
    }
    places = ("first", "second", "third", "fourth")
    rows = []
    for number, item in enumerate(MC, 7):
        options = [o if isinstance(o, str) else _names(o)[0] for o in item["options"]]
        rows.append(
            {
                "nr": number,
                "kind": item["relation"],
                "dish": item["dish_id"],
                # A text-to-image question shows no picture: [] as JSON text.
                "image": json.dumps(_names(item["images"])),
                "text": item["prompt"],
                "right": places["ABCD".index(str(item["answer"]))],
                **dict(zip(places, options, strict=True)),
            }
        )
    cuisine = {
        "dish": "d1",
        "shows": "practice_image",
        "images": "d1_1 d1_2",
        "cuisines": "、".join(REGION[0]["options"]),
        "right": "D",
    }
    return {
        "data/sheets/dishes.csv": _table(dishes),
        "data/questions_1.tsv": _table([one], "\t"),
        "data/questions_2.tsv": _table([two], "\t"),
        "data/choices.csv": _table(rows),
        "data/cuisines.csv": _table([cuisine]),
    }


PICTURE_ID_MAP = """
picture_ids:
  files: all.json
  rows: pictures
  fields: {id: id, path: file}
tables:
  dishes:
    files: all.json
    rows: [pool]
    fields: &same
      dish_id: id
      dish_name: name.text
      category: name.country
      region: name.cuisine
      language: name.language
      raw_material: {from: material, separator: ", "}
      practice_text: {from: steps, separator: "\\n"}
      dish_image: photo
      practice_images: photos
  binary:
    files: yes_no.json
    fields:
      id: number
      relation: {from: $key, values: {DI-DN: dish_image-dish_name,
                                      PI-PI: practice_image-practice_image}}
      dish_ids: dishes
      images: shown
      image_groups: groups
      prompt: question
      answer: {from: is_true, values: {true: yes, false: no}}
  mc:
    files: choice.json
    fields:
      id: number
      relation: {from: $key, values: {DI>DN: dish_image->dish_name, DN>DI: dish_name->dish_image}}
      dish_id: dish
      images: shown
      prompt: question
      options: options
      answer: {from: index, values: {0: A, 1: B, 2: C, 3: D}}
  region:
    files: cuisine.json
    fields: {id: number, dish_id: dish, evidence: kind, images: shown, options: options,
             answer: letter}
"""
PICTURE_IDS = {"d1_0": 100, "d1_1": 101, "d1_2": 102, "d2_0": 200, "d2_1": 201}


def picture_ids() -> dict[str, bytes]:
    """Nested objects, lists under keys, pictures by number, options by letter."""

    def numbers(paths: Sequence[str]) -> list[int]:
        return [PICTURE_IDS[name.removesuffix(".jpg")] for name in _names(paths)]

    pool = [
        {
            "id": dish["dish_id"],
            "name": {
                "text": dish["dish_name"],
                "country": dish["category"],
                "cuisine": dish["region"],
                "language": dish["language"],
            },
            "material": str(dish["raw_material"]).split(", "),
            "steps": str(dish["practice_text"]).split("\n"),
            "photo": numbers([str(dish["dish_image"])])[0],
            "photos": numbers(list(dish["practice_images"])),
        }
        for dish in (D1, D2)
    ]
    pictures = [{"id": i, "file": f"/srv/{name}.jpg"} for name, i in PICTURE_IDS.items()]
    yes_no = [
        {
            "number": number,
            "dishes": item["dish_ids"],
            "shown": numbers(item.get("images", [])) or None,
            "groups": [numbers(group) for group in item.get("image_groups", [])] or None,
            "question": item["prompt"],
            "is_true": item["answer"] == "yes",
        }
        for number, item in enumerate(BINARY)
    ]
    choice = [
        {
            "number": number,
            "dish": item["dish_id"],
            "shown": numbers(item["images"]),
            "question": item["prompt"],
            "options": {
                letter: option if isinstance(option, str) else numbers(option)
                for letter, option in zip("abcd", item["options"], strict=True)
            },
            "index": "ABCD".index(str(item["answer"])),
        }
        for number, item in enumerate(MC)
    ]
    cuisine = {
        "number": 1,
        "dish": "d1",
        "kind": "practice_image",
        "shown": numbers(REGION[0]["images"]),
        "options": REGION[0]["options"],
        "letter": "D",
    }
    return {
        "all.json": _json({"version": 1, "pool": pool, "pictures": pictures}),
        "yes_no.json": _json({"DI-DN": yes_no[:1], "PI-PI": yes_no[1:]}),
        "choice.json": _json({"DI>DN": choice[:1], "DN>DI": choice[1:]}),
        "cuisine.json": _json([cuisine]),
    }


TWO_BLOCKS_MAP = """
tables:
  dishes:
    - &chinese
      files: ["*/chinese/dishes.jsonl"]
      folders: m1
      fields: &fields
        {dish_id: id, dish_name: name, category: category, region: region, language: language,
         raw_material: raw_material, practice_text: practice_text, dish_image: photo,
         practice_images: photos}
    - files: ["*/foreign/dishes.jsonl"]
      folders: [m2]
      fields: *fields
  binary:
    files: binary.json
    fields: {id: id, relation: relation, dish_ids: dish_ids, images: images,
             image_groups: image_groups, prompt: prompt, answer: answer}
"""


def two_blocks() -> dict[str, bytes]:
    """Chinese and foreign dishes apart, whose pictures have the same file names."""

    def dish(row: Mapping[str, Any], photo: str, photos: Sequence[str]) -> dict[str, Any]:
        kept = ("category", "region", "language", "raw_material", "practice_text")
        names = {"id": row["dish_id"], "name": row["dish_name"], "photo": photo, "photos": photos}
        return {name: row[name] for name in kept} | names

    questions = [{**item, "id": f"q{number}"} for number, item in enumerate(BINARY)]
    return {
        "meta/chinese/dishes.jsonl": _lines([dish(D1, "0.jpg", ["1.jpg", "2.jpg"])]),
        "meta/foreign/dishes.jsonl": _lines([dish(D2, "0.jpg", ["1.jpg"])]),
        "meta/binary.json": _json(questions).replace(b"d1_", b"").replace(b"d2_", b""),
    }


def packed_zip(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def below(files: Mapping[str, bytes], folder: str) -> dict[str, bytes]:
    """Return the files of a folder, with their paths in it."""
    return {
        name.removeprefix(f"{folder}/"): content
        for name, content in files.items()
        if name.startswith(f"{folder}/")
    }


def write_files(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write files into a folder and return it."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def read_rows(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSON Lines file."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]
