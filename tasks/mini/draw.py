"""Pictures of dishes, cooking steps and trays, drawn from names: no photograph, no chance.

The same arguments give the same picture, byte for byte on one version of Pillow. An ingredient has
one colour everywhere, so a dish and its cooking steps go together.
"""

from __future__ import annotations

import colorsys
import hashlib
import math
import random
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageColor, ImageDraw

SIZE = (160, 120)
QUALITY = 80

Colour = tuple[int, int, int]
Box = tuple[float, float, float, float]


def dish_picture(
    name: str, ingredients: Sequence[str], vessel: str, view: int = 0, colour: str = ""
) -> Image.Image:
    """Return a dish seen from above ("bowl", "plate") or from the side ("glass").

    View 0 is the menu's picture on white; the others are a guest's, closer or farther off on a
    coloured table. The first ingredient fills the vessel, in `colour` ("#rrggbb") if given; the
    others lie in it as dots.
    """
    rng = random.Random(f"{name}/{view}")
    table = (250, 250, 248) if view == 0 else _colour(f"table/{name}/{view}", 0.35, 0.55)
    image = Image.new("RGB", SIZE, table)
    draw = ImageDraw.Draw(image)
    scale = 1.0 if view == 0 else rng.uniform(0.7, 1.1)
    x, y = 80 + (rng.uniform(-12, 12) if view else 0), 60 + (rng.uniform(-6, 6) if view else 0)
    fill = ImageColor.getrgb(colour) if colour else _food_colour(ingredients[0])
    if vessel == "glass":
        _glass(draw, rng, x, y, scale, fill, ingredients[1:])
        return image
    rim = (236, 232, 224) if vessel == "plate" else _colour(f"bowl/{name}", 0.3, 0.4)
    inner = 44 * scale if vessel == "plate" else 40 * scale
    draw.ellipse(_around(x, y, 52 * scale), fill=rim, outline=(120, 116, 110))
    draw.ellipse(_around(x, y, inner), fill=fill)
    _scatter(draw, rng, x, y, inner - 6, ingredients[1:], size=7 * scale, each=7)
    return image


def step_picture(name: str, ingredients: Sequence[str], step: int, steps: int) -> Image.Image:
    """Return a pot at one of a dish's cooking steps (1 to `steps`), fuller with every step."""
    rng = random.Random(f"{name}/step {step}")
    image = Image.new("RGB", SIZE, _colour(f"kitchen/{name}", 0.25, 0.75))
    draw = ImageDraw.Draw(image)
    for side in (20, 124):
        draw.rectangle((side, 56, side + 16, 66), fill=(70, 70, 74))
    draw.ellipse(_around(80, 61, 50), fill=(60, 60, 64))
    draw.ellipse(_around(80, 61, 44), fill=(150, 150, 154))
    used = ingredients[: math.ceil(step * len(ingredients) / steps)]
    _scatter(draw, rng, 80, 61, 36, used, size=6, each=2 + step)
    for line in range(step):
        draw.line((60 + 9 * line, 14, 64 + 9 * line, 4), fill=(245, 245, 245), width=2)
    return image


def tray_picture(image_name: str, foods: Sequence[tuple[str, float]]) -> Image.Image:
    """Return a tray with up to eight (food, grams), each drawn larger the more it weighs."""
    rng = random.Random(image_name)
    image = Image.new("RGB", SIZE, _colour(f"table/{image_name}", 0.25, 0.5))
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle((4, 6, 155, 113), radius=8, fill=(196, 186, 168), outline=(120, 112, 98))
    places = [(25 + 37 * column, 34 + 52 * row) for row in range(2) for column in range(4)]
    for (food, grams), (x, y) in zip(foods, rng.sample(places, len(foods)), strict=True):
        radius = min(17.0, 3 + 0.9 * math.sqrt(grams))
        colour = _food_colour(food.lower())
        if food.lower().endswith(("water", "juice")):
            draw.rounded_rectangle((x - 9, y - 17, x + 9, y + 17), radius=4, fill=colour)
        else:
            draw.ellipse(_around(x, y, 18), fill=(244, 243, 240), outline=(150, 148, 144))
            draw.ellipse(_around(x, y, radius), fill=colour)
    return image


def save(image: Image.Image, path: Path) -> None:
    """Write a picture as JPEG."""
    image.save(path, "JPEG", quality=QUALITY)


def _food_colour(name: str) -> Colour:
    """Return a food's colour, between red and green, light or dark."""
    return _hashed(name, hues=0.38, saturation=0.65, lightness=None)


def _colour(name: str, saturation: float, lightness: float) -> Colour:
    """Return the colour of a thing that is no food: any hue."""
    return _hashed(name, 1.0, saturation, lightness)


def _hashed(name: str, hues: float, saturation: float, lightness: float | None) -> Colour:
    digest = hashlib.sha256(name.encode()).digest()
    light = 0.3 + 0.5 * digest[1] / 255 if lightness is None else lightness
    red, green, blue = colorsys.hls_to_rgb(hues * digest[0] / 256, light, saturation)
    return round(255 * red), round(255 * green), round(255 * blue)


def _around(x: float, y: float, radius: float) -> Box:
    return (round(x - radius), round(y - radius), round(x + radius), round(y + radius))


def _scatter(
    draw: ImageDraw.ImageDraw,
    rng: random.Random,
    x: float,
    y: float,
    reach: float,
    ingredients: Sequence[str],
    size: float,
    each: int,
) -> None:
    for ingredient in list(ingredients) * each:
        angle, distance = rng.uniform(0, 2 * math.pi), reach * math.sqrt(rng.random())
        centre = (x + distance * math.cos(angle), y + distance * math.sin(angle))
        draw.ellipse(_around(*centre, size * rng.uniform(0.6, 1.0)), fill=_food_colour(ingredient))


def _glass(
    draw: ImageDraw.ImageDraw,
    rng: random.Random,
    x: float,
    y: float,
    scale: float,
    fill: tuple[int, ...],
    ingredients: Sequence[str],
) -> None:
    half, height = round(22 * scale), round(44 * scale)
    left, right = round(x) - half, round(x) + half
    top, bottom = round(y) - height, round(y) + height
    draw.rectangle((left, top, right, bottom), fill=(228, 236, 240), outline=(140, 150, 156))
    surface = top + round(14 * scale)
    draw.rectangle((left + 3, surface, right - 3, bottom - 3), fill=fill)
    _scatter(draw, rng, x, y + 8 * scale, half - 8, ingredients, size=4 * scale, each=4)
