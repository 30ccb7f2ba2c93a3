import pytest
import yaml

from lmms_eval_food.tasks.culturalmenu import prompts
from lmms_eval_food.tasks.culturalmenu.field_map import default_map_file
from lmms_eval_food.tasks.culturalmenu.prompts import (
    BINARY_RELATIONS,
    LANGUAGES,
    MC_RELATIONS,
    binary_prompt,
    category_key,
    category_label,
    mc_prompt,
    normalise_text,
    region_prompt,
)

# Typed from the paper, not read from families.yaml.
FAMILIES = [
    {"川菜", "湘菜", "贵州菜"},
    {"粤菜", "闽菜", "客家菜", "台湾菜"},
    {"鲁菜", "京菜", "东北菜", "豫菜"},
    {"浙菜", "淮扬菜", "徽菜", "赣菜"},
    {"西北菜"},
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_binary_question_names_its_value_and_both_answers(language):
    yes, no = (prompts.answer_word(language, answer) for answer in ("yes", "no"))
    assert yes != no
    for relation in BINARY_RELATIONS:
        prompt = binary_prompt(relation, language, "{X} 7")
        question, last = prompt.rsplit("\n", 1)
        assert ("{X} 7" in question) == (relation.count("_image") == 1)
        assert yes in last
        assert no in last.replace(yes, "", 1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_choice_question_gives_its_text_and_asks_for_the_letter(language):
    for relation in MC_RELATIONS:
        prompt = mc_prompt(relation, language, "{X} 7")
        given_part, question, last = prompt.split("\n")
        assert ("{X} 7" in given_part) == (not relation.startswith(("dish_image", "practice_im")))
        assert question
        assert all(letter in last for letter in "ABCD")


@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_of_a_language_all_differ(language):
    asked = [binary_prompt(relation, language, "X") for relation in BINARY_RELATIONS]
    asked += [mc_prompt(relation, language, "X") for relation in MC_RELATIONS]
    assert len(set(asked)) == 24


def test_relations_of_the_two_tables():
    fields = {"dish_name", "category", "raw_material", "practice_text"}
    crossed = {f"{image}-{field}" for image in ("dish_image", "practice_image") for field in fields}
    assert set(BINARY_RELATIONS) == crossed | {
        "dish_image-dish_image", "practice_image-practice_image",
    }  # fmt: skip
    short = {"DI": "dish_image", "DN": "dish_name", "PI": "practice_image",
             "PT": "practice_text", "RM": "raw_material"}  # fmt: skip
    table14 = "DI-DN DI-PI DI-PT DI-RM DN-DI DN-PI PI-DI PI-DN PI-PT PI-RM PT-DI PT-PI RM-DI RM-PI"
    expected = ["->".join(short[part] for part in pair.split("-")) for pair in table14.split()]
    assert list(MC_RELATIONS) == expected


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: binary_prompt("dish_image-dish_name", "zh", "回锅肉"),
            "这张图片中的菜品是回锅肉吗？\n请只回答“是”或“否”。",
        ),
        (
            lambda: binary_prompt("practice_image-practice_image", "en"),
            "Do these two groups of preparation step images belong to the same cuisine category?\n"
            'Answer only with "yes" or "no".',
        ),
        (
            lambda: mc_prompt("raw_material->dish_image", "ko", "쌀"),
            "한 음식의 주재료는 쌀입니다.\n이 음식의 사진은 어느 선택지입니까?\n"
            "선택지의 글자(A, B, C, D)만 답하세요.",
        ),
    ],
)
def test_prompt_as_written(call, text):
    assert call() == text


LISTED = "A. 贵州菜\nB. 浙菜\nC. 客家菜\nD. 川菜"
LETTER_ONLY = f"{LISTED}\n请仅输出A、B、C、D选项的字母，不要输出任何其他内容。"
STEPS = (
    "1. 首先识别这道菜是什么\n2. 分析其食材、调味料和烹饪手法的特征\n"
    "3. 根据这些特征判断它最可能属于哪个菜系"
)


@pytest.mark.parametrize(
    ("variant", "evidence", "text"),
    [
        ("standard", "dish_image", f"这张菜品图片属于以下哪个菜系？\n{LETTER_ONLY}"),
        ("standard", "practice_image", f"这些烹饪步骤图片属于以下哪个菜系？\n{LETTER_ONLY}"),
        ("text", "dish_image", f'根据菜名判断，"红油抄手" 属于以下哪个菜系？\n{LETTER_ONLY}'),
        (
            "cot",
            "dish_image",
            f"请仔细观察这张菜品图片，按以下步骤推理：\n{STEPS}\n{LISTED}\n"
            "请先给出你的推理过程，最后在新的一行输出答案字母。",
        ),
        (
            "named",
            "practice_image",
            f"这道菜叫做「红油抄手」。结合菜名和图片，判断它属于以下哪个菜系？\n{LETTER_ONLY}",
        ),
    ],
)  # fmt: skip
def test_region_prompt_as_printed(variant, evidence, text):
    options = ["贵州菜", "浙菜", "客家菜", "川菜"]
    assert region_prompt(variant, evidence, options, "红油抄手") == text


def test_families_are_the_five_of_the_paper():
    assert [set(members) for members in prompts.families().values()] == FAMILIES


@pytest.mark.parametrize(
    ("name", "cuisine"),
    [("北京菜", "京菜"), (" 四川菜", "川菜"), ("西北菜", "西北菜"), ("滇菜", None), (None, None)],
)
def test_cuisine_by_another_name(name, cuisine):
    assert prompts.canonical_cuisine(name) == cuisine


def test_family_of_a_cuisine():
    assert prompts.family_of("湖南菜") == prompts.family_of("贵州菜")
    assert prompts.family_of("鲁菜") != prompts.family_of("贵州菜")
    assert prompts.family_of("晋菜") is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_countries_have_one_name_each(language):
    names = prompts.language_prompts(language).categories
    assert len(names) == 11
    assert [category_key(name) for name in names.values()] == list(names)


def test_category_in_another_language():
    assert category_key("Italia") == category_key("意大利") == category_key("ITALY")
    assert category_label("Italia", "th") == "อิตาลี"
    assert category_label("Peru", "fr") == "Peru"


@pytest.mark.parametrize(
    ("names", "key"),
    [
        (
            ("UK", "Britain", "英国", "United Kingdom", "England", "British cuisine", "ＵＫ"),
            "britain",
        ),
        (("China", "中国", "中国菜", "Chinese", "चीन", "中華"), "china"),
        (("Korea", "South Korea", "韩国", "한국", "대한민국"), "korea"),
        (("Vietnam", "Viet Nam", "Việt Nam", "越南"), "vietnam"),
        (("Mexico", "México", "墨西哥", "Mexican food"), "mexico"),
        (("Thailand", "泰国", "ไทย", "ประเทศไทย"), "thailand"),
    ],
)
def test_the_names_of_one_country(names, key):
    assert {category_key(name) for name in names} == {key}
    assert all(prompts.is_known_category(name) for name in names)


@pytest.mark.parametrize("name", ["Peru", "", "ES", "Latin America", "川菜"])
def test_no_country_of_the_eleven(name):
    assert not prompts.is_known_category(name)


def test_the_field_map_and_the_categories_know_the_same_countries():
    fields = yaml.safe_load(default_map_file().read_text("utf-8"))["tables"]["dishes"]["fields"]
    speech = {"Chinese", "English", "Spanish", "French", "Hindi", "Italian", "Thai", "Japanese",
              "Korean", "Vietnamese", "zh-CN", "en-GB"}  # fmt: skip
    countries = set(fields["language"]["values"]) - speech
    assert len(countries) == 23
    assert [name for name in sorted(countries) if not prompts.is_known_category(name)] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ＡＢ汤", "AB汤"),
        ("AB汤\u200b", "ab汤 "),
        ("\ufeff麻婆\u2060豆腐", "麻婆豆腐"),
        ("soft\u00adcake", "softcake"),
        ("ｶﾚｰ", "カレー"),
        ("1\ufe0f 스프", "１ 스프"),
        ("क्\u200dष", "क्ष"),
        ("ก\u0e4d\u0e32", "ก\u0e33"),
        ("e\u200d\u0301", "É"),
        ("\u200b\u3164", ""),
    ],
)
def test_texts_that_look_alike(one, other):
    assert normalise_text(one) == normalise_text(other)


@pytest.mark.parametrize(
    ("one", "other"), [("か", "カ"), ("汤", "湯"), ("pate", "pâté"), ("A", "B")]
)
def test_texts_that_look_different(one, other):
    assert normalise_text(one) != normalise_text(other)


def test_texts_equal_but_for_case_spaces_and_composition():
    assert normalise_text(" Phở\n bò") == normalise_text("PHO\u031b\u0309 Bo\u0300".lower())
    assert normalise_text("Straße") == normalise_text("STRASSE")
