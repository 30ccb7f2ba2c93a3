"""Dish names without the words that give their region away; every expected name is by hand."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.tasks.culturalmenu.cuisine_words import without_cuisine_words

NAMES = {
    # The paper's own example, and plain cases.
    "四川小吃红油抄手": "红油抄手",
    "老北京炸酱面": "炸酱面",
    "东北锅包肉": "锅包肉",
    "兰州牛肉面": "牛肉面",
    "东北": "",
    "東北锅包肉": "锅包肉",
    # No word is cut out of two others.
    "浙江西湖醋鱼": "西湖醋鱼",
    "陕西安康蒸面": "安康蒸面",
    "江西安福火腿": "安福火腿",
    "山东北海虾": "北海虾",
    "湖北京山桥米饭": "京山桥米饭",
    "广东北菇鸡": "北菇鸡",
    "南京味鸭血": "鸭血",
    "河南京味烧饼": "烧饼",
    "福建宁德鱼丸": "鱼丸",
    "西湖南瓜羹": "西湖南瓜羹",
    # Abbreviations.
    "川渝火锅": "火锅",
    "江浙小炒": "小炒",
    "湘式小炒": "小炒",
    "陕味羊肉": "羊肉",
    "川香回锅肉": "回锅肉",
    "蜀香牛肉": "牛肉",
    "港式奶茶": "奶茶",
    "杭帮菜东坡肉": "东坡肉",
    "湘辣鸡": "辣鸡",
    "川辣子鸡": "辣子鸡",
    "京酱肉丝": "酱肉丝",
    "苏帮面": "面",
    # What goes with them.
    "正宗川菜回锅肉": "回锅肉",
    "四川的麻婆豆腐": "麻婆豆腐",
    "四川风味豆干": "豆干",
    "四川菜麻婆豆腐": "麻婆豆腐",
    # Brackets and separators.
    "【川菜】麻婆豆腐": "麻婆豆腐",
    "麻婆豆腐（四川）": "麻婆豆腐",
    "【川菜】【家常】麻婆豆腐": "【家常】麻婆豆腐",
    "川菜·麻婆豆腐": "麻婆豆腐",
    "川菜 - 麻婆豆腐": "麻婆豆腐",
    "麻婆豆腐·川菜·家常": "麻婆豆腐·家常",
    # Nothing else is left.
    "粤菜": "",
    "正宗川菜": "",
    "【四川小吃】": "",
    "": "",
    "  ": "",
    # What only looks like such a word.
    "川贝炖雪梨": "川贝炖雪梨",
    "清川丸子": "清川丸子",
    "鲁肉饭": "鲁肉饭",
    "京都排骨": "京都排骨",
    "三明治": "三明治",
    "桂花莲藕": "桂花莲藕",
    "八宝鸡": "八宝鸡",
    "珍珠海参": "珍珠海参",
    "百合肥牛": "百合肥牛",
    "玉蜀黍羹": "玉蜀黍羹",
    "紫苏菜": "紫苏菜",
    "名贵菜": "名贵菜",
    "甘味红薯": "甘味红薯",
    "青海苔饭": "青海苔饭",
    "四川风鸡": "风鸡",
    "四川香肠": "香肠",
    "四川菜花": "菜花",
    "四川菜豆花": "菜豆花",
    "潮汕菜脯蛋": "菜脯蛋",
    # A name without such a word stays, separators and brackets and all.
    "·麻婆豆腐（）": "·麻婆豆腐（）",
    "Shepherd's pie": "Shepherd's pie",
}


@pytest.mark.parametrize(("name", "left"), NAMES.items())
def test_names_by_hand(name: str, left: str) -> None:
    assert without_cuisine_words(name) == left


# The 16 cuisines, as their own options call them.
CUISINES = (
    "川菜 湘菜 贵州菜 粤菜 闽菜 客家菜 台湾菜 鲁菜 京菜 东北菜 豫菜 浙菜 淮扬菜 徽菜 赣菜 西北菜"
)


@pytest.mark.parametrize("cuisine", CUISINES.split())
def test_no_cuisine_stays_in_a_name(cuisine: str) -> None:
    assert without_cuisine_words(f"{cuisine}红烧肉") == "红烧肉"
    assert without_cuisine_words(f"红烧肉（{cuisine}）") == "红烧肉"
    assert without_cuisine_words(cuisine) == ""


@given(st.text("川菜湘四东北京江西湖安康老正宗的【】·（） 豆腐", max_size=12))
def test_any_name_only_loses_characters(name: str) -> None:
    left = without_cuisine_words(name)
    rest = iter(name)
    assert all(letter in rest for letter in left)
    assert left == left.strip()


@pytest.mark.parametrize("text", ["老", "【 ", "· ", "川", "( ) "])
def test_long_names_take_no_long_time(text: str) -> None:
    def seconds(size: int) -> float:
        name = "川菜" + (text * size)[:size] + "川菜"
        start = time.perf_counter()
        without_cuisine_words(name)
        return time.perf_counter() - start

    assert seconds(400_000) < 12 * seconds(100_000) + 1
