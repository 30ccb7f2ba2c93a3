import pytest

from lmms_eval_food.metrics.portion_analysis import category
from lmms_eval_food.results.canteen.categories import load_rules


def test_the_packaged_rules():
    rules = load_rules()
    assert category("Still water", rules) == "beverages"
    assert category("bread roll", rules) == "bread"
    assert category("???", rules) == "other"


def test_rules_of_a_file_keep_their_order(tmp_path):
    path = tmp_path / "rules.yaml"
    path.write_text(
        "- {category: 水果, keywords: [西瓜]}\n- {category: drinks, keywords: [tea, 水]}\n", "utf-8"
    )
    assert load_rules(path) == [("水果", ["西瓜"]), ("drinks", ["tea", "水"])]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("category: x", "list of rules"),
        ("- [unclosed", "not YAML"),
        ("- {category: x}", "rule 1 must have"),
        ("- {category: x, keywords: [a], more: 1}", "rule 1 must have"),
        ("- {category: '', keywords: [a]}", "must be a name"),
        ("- {category: x, keywords: a}", "list of words"),
        ("- {category: x, keywords: []}", "list of words"),
        # YAML reads no as a truth value; an empty word is in every name.
        ("- {category: x, keywords: [no]}", "rule 1: False is not a word"),
        ("- {category: x, keywords: ['']}", "rule 1: '' is not a word"),
    ],
)
def test_malformed_rules_are_refused(tmp_path, text, message):
    path = tmp_path / "rules.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=message) as raised:
        load_rules(path)
    assert str(path) in str(raised.value)
