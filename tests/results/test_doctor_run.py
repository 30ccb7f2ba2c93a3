"""Checks of a run's backend and of its largest prompts, on configs and data made up for them."""

import json
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest
from PIL import Image

from lmms_eval_food.results.doctor import backend, prompts, signatures
from lmms_eval_food.results.doctor.finding import Level
from lmms_eval_food.results.doctor.run_config import run_config


def run(model="vllm", model_args="", gen_kwargs="", tasks="culturalmenu_mc", **fields):
    content = {"model": model, "model_args": model_args, "gen_kwargs": gen_kwargs, "tasks": tasks}
    return run_config({**content, **fields})


# The backend


@pytest.mark.parametrize(
    ("name", "there", "level", "says"),
    [
        ("vllm", False, Level.FAIL, "needs vLLM"),
        ("vllm", True, Level.OK, "backend vllm"),
        ("async_openai", False, Level.OK, "backend async_openai"),
        ("food_replay", False, Level.OK, "backend food_replay"),
        ("vlm", True, Level.FAIL, "no model 'vlm'"),
        ("async_openia", True, Level.FAIL, "no model 'async_openia'"),
        ("", True, Level.FAIL, "no model ''"),
    ],
)
def test_the_host_must_have_the_backend_and_the_machine_what_it_needs(
    monkeypatch, name, there, level, says
):
    monkeypatch.setattr(backend.importlib.util, "find_spec", {"vllm": there or None}.get)
    found = backend.model(run(name))
    assert found.level is level
    assert says in found.detail


def test_a_name_close_to_the_typed_one_is_shown():
    assert "vllm" in backend.model(run("vlm")).remedy
    assert "async_openai" in backend.model(run("async_openia")).remedy


def test_looking_at_backends_imports_none():
    code = (
        "import sys; from lmms_eval_food.results.doctor import backend, run_config as c;"
        "r = c.run_config({'model': 'async_openai', 'model_args': 'timout=3', 'tasks': 'food'});"
        "print(backend.model(r).level, backend.arguments(r).level,"
        "[n for n in sys.modules if n in ('openai', 'vllm') or 'async_openai' in n])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "ok warn []"


ENGINE = {"max_model_len", "dtype"}


@pytest.mark.parametrize(
    ("config", "engine", "level", "says"),
    [
        (run("async_openai", "model=m,base_url=u,num_cpus=64"), set(), Level.OK, "all known"),
        (run("async_openai", "model=m,num_cpu=64,timout=3"), set(), Level.WARN, "num_cpu, timout"),
        (run("openai", "model=m,num_concurrent=1"), set(), Level.OK, "all known"),
        (run("openai", "model=m,pass_video_url=True"), set(), Level.OK, "all known"),
        # The backend's chat class has an argument that its simple class lacks.
        (run("openai", "pass_video_url=1", force_simple=True), set(), Level.WARN, "pass_video_url"),
        (run("food_reference", "predictor=oracle,sed=3"), set(), Level.WARN, "sed"),
        (run(model_args="model=m,max_model_len=4096,dtype=half"), ENGINE, Level.OK, "all known"),
        (run(model_args="model=m,max_modellen=4096"), ENGINE, Level.WARN, "max_modellen"),
        (run(model_args="model=m,max_modellen=4096"), set(), Level.OK, "not looked at"),
        (run("vlm", "model=m"), set(), Level.OK, "not known"),
    ],
)
def test_arguments_that_the_backend_does_not_know(monkeypatch, config, engine, level, says):
    monkeypatch.setattr(signatures, "of_vllm", lambda: engine)
    found = backend.arguments(config)
    assert found.level is level
    assert says in found.detail


def test_an_argument_close_to_the_typed_one_is_shown():
    found = backend.arguments(run("async_openai", "timout=3"))
    assert found.remedy == "did you mean timeout?"


def test_signatures_follow_base_classes_and_need_no_import(tmp_path, monkeypatch):
    (tmp_path / "far.py").write_text(
        "raise RuntimeError\nclass Far:\n    def __init__(self, a): 0\n"
    )
    (tmp_path / "near.py").write_text(
        "from far import Far as F\n"
        "raise RuntimeError\n"
        "class Base(F):\n    def __init__(self, b, *, c=1, **rest): 0\n"
        "class Same(Base): pass\n"
        "class Closed(Base):\n    def __init__(self, d, /): 0\n"
    )
    (tmp_path / "spoilt.py").write_text("class Near(:")
    monkeypatch.syspath_prepend(tmp_path)
    base = signatures.of_class("near.Base")
    assert base == signatures.Signature(frozenset("abc"), more=True)
    assert signatures.of_class("near.Same") == base
    assert signatures.of_class("near.Closed") == signatures.Signature(frozenset("d"), more=False)
    assert signatures.of_class("far.Far") == signatures.Signature(frozenset("a"), more=False)
    for path in ("near.Other", "spoilt.Near", "nowhere.near.Base", "far.near.Base", "Base", ""):
        assert signatures.of_class(path) is None


def test_vllms_arguments_are_read_from_its_source(tmp_path, monkeypatch):
    found = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(signatures.importlib.util, "find_spec", lambda name: found)
    assert signatures.of_vllm() == set()
    (tmp_path / "engine").mkdir()
    (tmp_path / "entrypoints").mkdir()
    (tmp_path / "engine" / "arg_utils.py").write_text(
        "class EngineArgs:\n    dtype: str = 'auto'\n"
    )
    assert signatures.of_vllm() == set()
    (tmp_path / "entrypoints" / "llm.py").write_text(
        "class LLM:\n    def __init__(self, model, *, seed=0, **kwargs): 0\n"
    )
    assert signatures.of_vllm() == {"dtype", "model", "seed"}
    monkeypatch.setattr(signatures.importlib.util, "find_spec", lambda name: None)
    assert signatures.of_vllm() == set()


@pytest.mark.parametrize(
    ("config", "level", "says"),
    [
        (run(), Level.OK, ""),
        (run(model_args="tensor_parallel_size=4"), Level.OK, ""),
        (run(model_args="data_parallel_size=4"), Level.WARN, "--nproc_per_node 4 "),
        (
            run(model_args="tensor_parallel_size=2,data_parallel_size=4"),
            Level.WARN,
            "--nproc_per_node 8 ",
        ),
        (run(model_args="data_parallel_size=two"), Level.FAIL, ""),
        (run(model_args="tensor_parallel_size=0"), Level.FAIL, ""),
        (run("async_openai", "data_parallel_size=4"), Level.OK, ""),
    ],
)
def test_data_parallel_needs_torchrun(config, level, says):
    found = backend.ranks(config)
    assert found.level is level
    assert says in found.remedy


# The largest prompts


@pytest.mark.parametrize(
    "limit", ["image=8", "{image:8}", '{"image":"many"}', "8", '{"image":[8]}', "[" * 100_000]
)
def test_a_limit_of_pictures_that_is_none_is_named(limit):
    config = run()
    config = run_config({**config.fields, "model_args": ""})
    config.model_args["limit_mm_per_prompt"] = limit  # past the host's own parsing
    found = prompts.pictures(config)
    assert found.level is Level.FAIL
    assert found.detail.startswith("limit_mm_per_prompt=")
    assert found.remedy == 'limit_mm_per_prompt={"image":100}'


@pytest.fixture
def four_photos(tmp_path, monkeypatch, mini_root):
    """Classification documents of 280 x 280 pixels, which are 100 tokens, and 400 bytes of text."""
    root = shutil.copytree(mini_root, tmp_path / "data")
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(root))
    table = root / "diningbench" / "classification.jsonl"
    rows = [json.loads(line) for line in table.read_text("utf-8").splitlines()][:2]
    names = [f"images/photo{n}.jpg" for n in range(4)]
    for name in names:
        Image.new("RGB", (280, 280)).save(root / "diningbench" / name)
    few = {**rows[0], "prompt": "x" * 40, "standard_image": names[0], "user_images": []}
    many = {**rows[1], "prompt": "x" * 400, "standard_image": names[0], "user_images": names[1:]}
    table.write_text(f"{json.dumps(few)}\n{json.dumps(many)}\n", encoding="utf-8")
    whole = prompts._tables
    only = ("classification",)
    monkeypatch.setattr(prompts, "_tables", lambda name: {t: whole(name)[t] for t in only})
    return root


def test_the_largest_prompt_is_estimated_from_pixels_and_bytes(four_photos):
    tables = prompts._tables("diningbench")
    assert prompts.largest_prompt(tables, 10**7) == (4 * 100 + 100, 4)
    assert prompts.largest_prompt(tables, 78_400 // 2) == (4 * 50 + 100, 4)
    assert prompts.largest_prompt(tables, 1) == (4 * 4 + 100, 4)
    assert prompts.largest_prompt({}, 1) == (0, 0)
    (four_photos / "diningbench" / "images" / "photo1.jpg").write_bytes(b"broken")
    assert prompts.largest_prompt(tables, 10**7) == (3 * 100 + 4 + 100, 4)


PIXELS = 'mm_processor_kwargs={"max_pixels":39200}'
QWEN, OTHER = "model=Qwen/Qwen2.5-VL-7B-Instruct,max_new_tokens=64", "model=o,max_new_tokens=64"


@pytest.mark.parametrize(
    ("model_args", "level", "says"),
    [
        # 500 tokens of prompt and 16,384 of answer.
        (f"{QWEN},max_model_len=16884", Level.OK, "4 pictures, 500 tokens + 16,384 of answer"),
        (f"{QWEN},max_model_len=16883", Level.WARN, "prompt and answer together"),
        (f"{QWEN},max_model_len=16684,{PIXELS}", Level.OK, "300 tokens"),
        (f"{QWEN},max_model_len=16683,{PIXELS}", Level.WARN, "300 tokens"),
        (f"{QWEN},max_model_len=500", Level.FAIL, "refuses the largest prompt"),
        (f"{OTHER},max_model_len=500", Level.WARN, "as Qwen2.5-VL counts"),
        (f"{QWEN},max_model_len=16k", Level.FAIL, "no whole number"),
        (f"{QWEN},max_model_len=0", Level.FAIL, "no whole number"),
        (QWEN, Level.OK, "not set"),
    ],
)
def test_the_context_has_to_hold_prompt_and_answer(four_photos, model_args, level, says):
    found = prompts.context(run(model_args=model_args, tasks="diningbench_cls"))
    assert found.level is level
    assert says in found.detail
    if level is Level.WARN and "16883" in model_args:
        assert "max_model_len=16884" in found.remedy


def test_a_context_without_data_or_of_a_server_is_not_judged(tmp_path, monkeypatch):
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(tmp_path))
    assert prompts.context(run(model_args="max_model_len=512")).level is Level.OK
    assert prompts.context(run("openai", "max_model_len=512")).level is Level.OK
