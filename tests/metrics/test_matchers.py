"""Matchers on made-up encoders, and (slow) on real ones."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics import matchers
from lmms_eval_food.metrics.encoders import BiEncoder, CrossEncoder
from lmms_eval_food.metrics.matchers import (
    MATCHERS,
    CachedMatcher,
    MatcherError,
    load_matcher,
)
from lmms_eval_food.metrics.matching import greedy_assignment
from lmms_eval_food.metrics.weights import WeightSource

# Unit vectors in a plane, by angle: the cosine of a difference is a similarity one can work out.
ANGLES = {"rice": 0, "boiled rice": 60, "tea": 90, "soup": 180, "stew": 120}


class FakeBiEncoder:
    """Encodes the names of ANGLES, and others by length; keeps what it was asked."""

    def __init__(self, noise=0.0):
        self.asked = []
        self.noise = noise

    def encode(self, texts, *, batch_size, normalize_embeddings, show_progress_bar):
        assert normalize_embeddings
        self.asked.extend(texts)
        angles = np.radians([ANGLES.get(text, 7 * len(text)) for text in texts])
        shift = self.noise * len(texts)
        return np.stack([np.cos(angles) + shift, np.sin(angles)], axis=1).astype(np.float32)


class FakeCrossEncoder:
    """Gives fixed raw values, through the activation it is told or, if stubborn, as they are."""

    def __init__(self, values, obeys=True):
        self.values = iter(values)
        self.obeys = obeys
        self.asked = []

    def predict(self, pairs, *, batch_size, activation_fn, show_progress_bar):
        import torch

        self.asked.extend(pairs)
        raw = torch.tensor([next(self.values) for _ in pairs])
        return (activation_fn(raw) if self.obeys else raw).numpy()


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"made up")
    return WeightSource(str(folder))


@pytest.fixture
def make(source):
    """Makes a matcher on a made-up model."""

    def make(model, cache_dir=None):
        kind = CrossEncoder if hasattr(model, "predict") else BiEncoder
        return CachedMatcher("fake", kind(source, "cpu", lambda folder, device: model), cache_dir)

    return make


def test_bi_encoder_scores_are_cosines(make):
    (scores,) = make(FakeBiEncoder()).score([(["boiled rice", "tea"], ["rice", "soup", "stew"])])
    expected = [[0.5, -0.5, 0.5], [0, 0, np.sqrt(3) / 2]]
    assert scores == pytest.approx(np.array(expected), abs=1e-6)


def test_equal_names_are_exactly_one_and_empty_names_zero(make):
    model = FakeBiEncoder()
    jobs = [
        ([" RICE", ""], ["rice", " "]),
        (["\n"], ["tea"]),
        ([], ["tea"]),
        (["tea"], []),
        ([], []),
    ]
    scores = make(model).score(jobs)
    assert [matrix.tolist() for matrix in scores] == [[[1, 0], [0, 0]], [[0]], [], [[]], []]
    assert [matrix.shape for matrix in scores] == [(2, 2), (1, 1), (0, 1), (1, 0), (0, 0)]
    assert model.asked == []


def test_nothing_is_looked_for_before_it_is_needed(tmp_path):
    matcher = load_matcher(f"bi:{tmp_path / 'nothing here'}")
    assert matcher.score([(["rice", ""], ["Rice"])])[0].tolist() == [[1], [0]]
    with pytest.raises(MatcherError, match="neither a folder nor the id"):
        matcher.score([(["rice"], ["tea"])])


def test_each_name_is_encoded_once(make):
    model = FakeBiEncoder()
    matcher = make(model)
    matcher.score([(["rice", "Rice"], ["tea"]), (["tea "], ["rice", "soup"])])
    matcher.score([(["soup", "stew"], ["rice"])])
    assert sorted(model.asked) == ["rice", "soup", "stew", "tea"]


def test_names_that_need_no_model_are_not_encoded(make):
    model = FakeBiEncoder()
    make(model).score([(["rice", ""], ["rice"]), (["tea"], ["soup"])])
    assert sorted(model.asked) == ["soup", "tea"]


def test_each_pair_is_read_once_predicted_name_first(make):
    model = FakeCrossEncoder([0.0, 1.0, 2.0, 3.0])
    matcher = make(model)
    matcher.score([(["a", "b"], ["b", "A "]), (["a"], ["b"])])
    matcher.score([(["b"], ["a"]), (["a"], ["c"])])
    assert model.asked == [("a", "b"), ("b", "a"), ("a", "c")]


def test_what_was_computed_is_kept_on_disk(make, tmp_path):
    jobs = [(["rice", "tea"], ["soup"])]
    (first,) = make(FakeBiEncoder(), tmp_path).score(jobs)
    unused = FakeBiEncoder()
    (second,) = make(unused, tmp_path).score(jobs)
    assert unused.asked == []
    assert second.tolist() == first.tolist()


def test_other_weights_do_not_share_what_is_kept(make, source, tmp_path):
    make(FakeBiEncoder(), tmp_path).score([(["rice"], ["soup"])])
    (tmp_path / "weights" / "model.safetensors").write_bytes(b"others")
    model = FakeBiEncoder()
    make(model, tmp_path).score([(["rice"], ["soup"])])
    assert model.asked == ["rice", "soup"]


def test_fingerprint_names_weights_output_and_library(make):
    bi, cross = make(FakeBiEncoder()).fingerprint, make(FakeCrossEncoder([])).fingerprint
    # The SHA-256 of b"made up" begins so; the folder's place is not told.
    assert bi.startswith("weights sha256:48168fa99cb7 cosine sentence-transformers ")
    assert cross.startswith("weights sha256:48168fa99cb7 sigmoid sentence-transformers ")
    assert bi.rpartition(" ")[2][0].isdigit()


NAMES = st.lists(st.sampled_from([*ANGLES, "Tea ", "", "bread", "a long name"]), max_size=4)


@given(st.lists(st.tuples(NAMES, NAMES), max_size=4), st.randoms())
def test_scores_hardly_depend_on_what_is_scored_together(jobs, random):
    # The encoder's vectors move by a few 1e-8 with the size of the batch, as real ones do.
    def matcher():
        model = FakeBiEncoder(noise=1e-8)
        return CachedMatcher("f", _Unnamed(model))

    together = matcher().score(jobs)
    apart = [matcher().score([job])[0] for job in jobs]
    order = random.sample(range(len(jobs)), len(jobs))
    shuffled = dict(zip(order, matcher().score([jobs[place] for place in order]), strict=True))
    for place, scores in enumerate(together):
        assert scores.shape == (len(jobs[place][0]), len(jobs[place][1]))
        # One in the last of the six places is what rounding cannot take away.
        assert scores == pytest.approx(apart[place], rel=0, abs=1.1e-6)
        assert scores == pytest.approx(shuffled[place], rel=0, abs=1.1e-6)
        assert (np.abs(scores) <= 1).all()
        assert scores.tolist() == scores.round(6).tolist()


class _Unnamed(BiEncoder):
    """A bi-encoder whose weights need not exist."""

    fingerprint = "made up"

    def __init__(self, model):
        super().__init__(WeightSource("none"), "cpu", lambda folder, device: model)
        self._model = model


@pytest.mark.parametrize("name", ["tea\ud800", "\x00", "麻婆豆腐 🍚", "x" * 100_000, "\u200b"])
def test_odd_names_are_scored(make, tmp_path, name):
    (scores,) = make(FakeBiEncoder(), tmp_path).score([([name], ["rice"])])
    assert -1 <= scores.item() <= 1


def test_an_answer_stuck_in_a_loop_costs_one_name(make):
    model = FakeBiEncoder()
    (scores,) = make(model).score([(["boiled rice"] * 20_000, ["rice", "tea", "soup"])])
    assert sorted(model.asked) == ["boiled rice", "rice", "soup", "tea"]
    assert scores.shape == (20_000, 3)
    assert greedy_assignment(scores, 0.5) == [(0, 1, pytest.approx(0.866025)), (1, 0, 0.5)]


# Raw cross-encoder values of -3.2, 0.4 and 8.1 become about 0.039, 0.599 and 1.0.


def test_the_sigmoid_is_applied_whatever_the_model_would_do(make):
    (scores,) = make(FakeCrossEncoder([-3.2, 0.4, 8.1])).score([(["a"], ["x", "y", "z"])])
    assert scores == pytest.approx(np.array([[0.039166, 0.598688, 0.999697]]), abs=1e-6)
    assert int((scores >= 0.5).sum()) == 2


@pytest.mark.parametrize(
    ("values", "obeys", "message"),
    [
        (
            [-3.2, 0.4, 8.1],
            False,
            r"scores must lie in \[0, 1\] after the sigmoid, got -3.2 to 8.1",
        ),
        ([0.5, float("nan"), 0.5], True, r"scores must lie in \[0, 1\]"),
        ([[0.1, 0.9]] * 3, True, r"expected one score a pair, got an array of shape \(3, 2\)"),
    ],
)
def test_unusable_cross_encoders_are_refused(make, values, obeys, message):
    with pytest.raises(MatcherError, match=message):
        make(FakeCrossEncoder(values, obeys)).score([(["a"], ["x", "y", "z"])])


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (np.array([[1.0, np.nan], [1.0, 0.0]]), "an embedding is not finite"),
        (np.zeros((1, 2)), r"expected one embedding a name, got an array of shape \(1, 2\)"),
        (np.zeros(2), "expected one embedding a name"),
    ],
)
def test_unusable_bi_encoders_are_refused(make, output, message):
    model = FakeBiEncoder()
    model.encode = lambda texts, **options: output
    with pytest.raises(MatcherError, match=message):
        make(model).score([(["a"], ["b"])])


def test_many_threads_encode_each_name_once(make, tmp_path):
    model = FakeBiEncoder()
    matcher = make(model, tmp_path)
    names = [f"food {'x' * number}" for number in range(1, 13)]
    jobs = [(list(pair), names) for pair in itertools.combinations(names, 2)]
    expected = make(FakeBiEncoder()).score(jobs)
    begin = threading.Barrier(8)
    results = {}

    def work(worker):
        begin.wait()
        results[worker] = [matcher.score([job])[0].tolist() for job in jobs]

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(model.asked) == sorted(names)
    assert all(results[worker] == [matrix.tolist() for matrix in expected] for worker in range(8))


def test_a_process_loads_a_matcher_once(tmp_path, monkeypatch):
    monkeypatch.setattr(matchers, "_loaded", {})
    begin = threading.Barrier(8)
    got = []

    def work():
        begin.wait()
        got.append(load_matcher("minilm", tmp_path))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(matcher) for matcher in got}) == 1
    assert load_matcher("minilm", tmp_path) is got[0]
    assert load_matcher("distilroberta", tmp_path) is not got[0]


@pytest.mark.parametrize("name", ["", "bert", "bi:", "cross:", "poly:model", "MiniLM"])
def test_unknown_matchers_are_refused(name):
    with pytest.raises(MatcherError, match=r"choose distilroberta, minilm, roberta-large, bi:PATH"):
        load_matcher(name)


def test_the_table():
    assert {name: spec.source.model for name, spec in MATCHERS.items()} == {
        "minilm": "sentence-transformers/all-MiniLM-L6-v2",
        "distilroberta": "cross-encoder/stsb-distilroberta-base",
        "roberta-large": "cross-encoder/stsb-roberta-large",
    }
    assert all(load_matcher(name).name == name for name in MATCHERS)
