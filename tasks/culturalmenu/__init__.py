"""CulturalMenuBench: dishes, ingredients and cooking steps in ten languages."""
