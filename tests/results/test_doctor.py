"""Each check of `lmms-eval-food doctor`, on machines made up for it."""

import importlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.results import doctor
from lmms_eval_food.results.doctor import machine as doctor_machine
from lmms_eval_food.results.doctor import prompts as doctor_prompts
from lmms_eval_food.results.doctor import run_config
from lmms_eval_food.results.doctor import settings as doctor_run
from lmms_eval_food.results.doctor import setup as doctor_setup
from lmms_eval_food.results.doctor.finding import Check, Finding, Level, fail, ok, warn
from lmms_eval_food.results.doctor.run_config import ConfigError, RunConfig
from lmms_eval_food.results.doctor.tasks import TaskFile, members, task_files
from lmms_eval_food.tasks import judge_server
from lmms_eval_food.tasks.plugin import TASK_FOLDER
from tests.tasks.judge_server import Bench, judging

GIB = 2**30
COMMAND = "from lmms_eval_food.results.cli import main; raise SystemExit(main())"
JUDGE = ("LMMS_EVAL_FOOD_JUDGE", "LMMS_EVAL_FOOD_REPAIR")
PLAIN = RunConfig({}, {}, "openai", {}, {}, ("culturalmenu_mc",))


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    """No judge, no matcher chosen, empty data root and cache, and no waiting."""
    for name in (*JUDGE, *(f"{variable}_MODEL" for variable in JUDGE), "LMMS_EVAL_FOOD_MATCHER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(judge_server, "_FIRST_PAUSE_SECONDS", 0)


@pytest.fixture
def own_root(mini_root, tmp_path):
    """A copy of the mini sets that a test may spoil; it is the data root."""
    return shutil.copytree(mini_root, tmp_path / "data")


def raises(error):
    def find():
        raise error

    return find


# What a check is


@pytest.mark.parametrize(
    "error", [RuntimeError("no such card"), SystemExit("lmms-eval-food: no judge"), KeyError("x")]
)
def test_a_check_that_breaks_is_a_failed_check(error):
    found = Check("cards", raises(error)).run()
    assert found.level is Level.FAIL
    assert str(error) in found.detail


def test_an_interrupt_is_not_held_back():
    with pytest.raises(KeyboardInterrupt):
        Check("cards", raises(KeyboardInterrupt())).run()


def test_what_a_check_prints_does_not_mix_with_the_result(capsys):
    def loud():
        print("loading shards")
        return ok("there")

    results = doctor.perform([Check("model", loud)])
    said = capsys.readouterr()
    assert [finding for _, finding in results] == [ok("there")]
    assert (said.out, said.err) == ("", "loading shards\n")


def test_table_has_a_line_a_check_and_what_to_do_below():
    checks = [
        ("a", ok("fine")),
        ("long name", fail("bad\nnews", "mend it")),
        ("b", warn("so", "x")),
    ]
    results = [(Check(name, lambda: ok("")), finding) for name, finding in checks]
    assert doctor.table(results).splitlines() == [
        "ok    a          fine",
        "fail  long name  bad news",
        "                 -> mend it",
        "warn  b          so",
        "                 -> x",
        "1 ok, 1 warn, 1 fail",
    ]


@pytest.mark.parametrize(
    ("findings", "status"),
    [([ok("a")], 0), ([ok("a"), warn("b", "c")], 0), ([fail("a", "b"), ok("c")], 1)],
)
def test_exit_status_is_1_only_where_a_check_failed(monkeypatch, capsys, findings, status):
    checks = [Check("x", lambda finding=finding: finding) for finding in findings]
    monkeypatch.setattr(doctor, "checks", lambda runs: checks)
    assert doctor.run(SimpleNamespace(config=None, json=True)) == status
    shown = json.loads(capsys.readouterr().out)
    assert [row["level"] for row in shown] == [finding.level for finding in findings]
    assert set(shown[0]) == {"check", "level", "detail", "remedy"}


def test_names_of_checks_differ():
    names = [check.name for check in doctor.checks(run_config.read_runs("ollama"))]
    assert len(set(names)) == len(names)


def test_a_configs_variables_are_set_as_the_host_sets_them(monkeypatch, tmp_path):
    monkeypatch.setenv("LMMS_EVAL_FOOD_MATCHER", "")  # put back after the test, as is the next
    monkeypatch.setenv("WHICH", "bert")
    file = tmp_path / "c.yaml"
    file.write_text("{model: openai, env: {LMMS_EVAL_FOOD_MATCHER: $WHICH-x}}")
    monkeypatch.setattr(doctor, "checks", lambda runs: [])
    assert doctor.run(SimpleNamespace(config=str(file), json=True)) == 0
    assert os.environ["LMMS_EVAL_FOOD_MATCHER"] == "bert-x"


# The machine


def installed(monkeypatch, versions):
    real = importlib.metadata.version

    def version(name):
        found = versions.get(name, real(name) if name not in versions else None)
        if found is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_requirements_are_met_here():
    assert doctor_machine.requirements().level is Level.OK


def test_requirements_name_what_is_missing_or_of_another_version(monkeypatch):
    installed(monkeypatch, {"filelock": "4.0.1", "datasets": None})
    found = doctor_machine.requirements()
    assert found.level is Level.FAIL
    assert "filelock 4.0.1 is installed" in found.detail
    assert "datasets>=4 is not installed" in found.detail
    assert "<4" in found.remedy


def test_requirements_know_the_python(monkeypatch):
    monkeypatch.setattr(doctor_machine.platform, "python_version", lambda: "3.9.2")
    found = doctor_machine.requirements()
    assert (found.level, found.remedy) == (Level.FAIL, "use a Python >=3.11")


@pytest.mark.parametrize(("version", "level"), [("0.7.3", Level.OK), ("0.7.4", Level.WARN)])
def test_host_is_the_tested_version(monkeypatch, version, level):
    installed(monkeypatch, {"lmms-eval": version})
    found = doctor_machine.host()
    assert found.level is level
    assert version in found.detail


def test_missing_tasks_are_those_absent_and_those_of_other_files():
    files = {name: TaskFile(Path(f"/ours/{name}.yaml"), "", None, ()) for name in "abc"}
    index = {"a": {"yaml_path": "/ours/a.yaml"}, "b": {"yaml_path": "/theirs/b.yaml"}}
    assert doctor_machine.missing_tasks(index, files) == ["b", "c"]


@pytest.mark.parametrize(("gone", "level"), [((), Level.OK), (("canteen",), Level.FAIL)])
def test_plugin_compares_the_hosts_index_with_our_files(monkeypatch, gone, level):
    index = {name: {"yaml_path": str(f.path)} for name, f in task_files(TASK_FOLDER).items()}
    for name in gone:
        del index[name]
    monkeypatch.setattr(doctor_machine, "_host_index", lambda: index)
    found = doctor_machine.plugin()
    assert found.level is level
    assert all(name in found.detail for name in gone)


def test_an_engine_that_is_not_installed_is_no_fault(monkeypatch):
    installed(monkeypatch, {"vllm": None})
    found = doctor_machine.engine("vllm")
    assert found == ok("not installed; needed for the vllm configs only")


def test_an_engine_that_cannot_be_imported_is_one(monkeypatch):
    installed(monkeypatch, {"vllm": "0.32.0"})
    monkeypatch.setattr(doctor_machine.importlib, "import_module", raises_at_import)
    found = doctor_machine.engine("vllm")
    assert found.level is Level.FAIL
    assert "libcudart" in found.detail


def raises_at_import(name):
    raise ImportError(f"{name}: libcudart.so.13 not found")


@pytest.mark.parametrize(
    ("cards", "config", "other"),
    [
        (0, "api_server", "vllm_one_gpu"),
        (1, "vllm_one_gpu", "vllm_data_parallel"),
        (4, "vllm_data_parallel", "vllm_one_gpu"),
    ],
)
def test_gpus_name_the_config_that_suits_them(monkeypatch, cards, config, other):
    card = SimpleNamespace(name="Card X", total_memory=80 * GIB)
    cuda = SimpleNamespace(device_count=lambda: cards, get_device_properties=lambda n: card)
    torch = SimpleNamespace(__version__="9.9", cuda=cuda)
    monkeypatch.setattr(doctor_machine.importlib, "import_module", lambda name: torch)
    found = doctor_machine.gpus()
    assert found.level is Level.OK
    assert config in found.detail
    assert other not in found.detail
    assert found.detail.count("Card X 80 GiB") == cards


@pytest.mark.parametrize(
    ("variables", "level", "says"),
    [
        ({}, Level.OK, "mended ones as PNG; no pixel limit"),
        ({"LMMS_IMAGE_ENCODE_FORMAT": "png"}, Level.OK, "PNG"),
        ({"LMMS_IMAGE_ENCODE_FORMAT": "jpeg"}, Level.WARN, "JPEG, with loss"),
        ({"LMMS_IMAGE_ENCODE_FORMAT": "JPG"}, Level.FAIL, "JPG is no format"),
        ({"LMMS_IMAGE_ENCODE_FORMAT": ""}, Level.FAIL, "no format"),
        ({"LMMS_EVAL_FOOD_MAX_PIXELS": "1000000"}, Level.OK, "at most 1,000,000 pixels"),
        ({"LMMS_EVAL_FOOD_MAX_PIXELS": "1 MP"}, Level.FAIL, "not a whole number"),
    ],
)
def test_pictures_on_their_way(monkeypatch, variables, level, says):
    for name in ("LMMS_IMAGE_ENCODE_FORMAT", "LMMS_EVAL_FOOD_MAX_PIXELS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = doctor_machine.pictures()
    assert found.level is level
    assert says in found.detail


@pytest.mark.parametrize(
    ("free", "level"),
    [(0.9, Level.FAIL), (1, Level.WARN), (19.9, Level.WARN), (20, Level.OK), (900, Level.OK)],
)
def test_disk(monkeypatch, tmp_path, free, level):
    asked = []

    def usage(folder):
        asked.append(folder)
        return SimpleNamespace(free=int(free * GIB))

    monkeypatch.setattr(doctor_machine.shutil, "disk_usage", usage)
    assert doctor_machine.disk().level is level
    # The data root is not there yet: the nearest folder above it has its disk.
    assert asked == [tmp_path]


def test_cache_that_can_be_written_is_left_empty(tmp_path):
    found = doctor_machine.cache()
    assert found == ok(str(tmp_path / "cache" / "lmms-eval-food"))
    assert list((tmp_path / "cache" / "lmms-eval-food").iterdir()) == []


def test_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    found = doctor_machine.cache()
    assert found.level is Level.WARN
    assert "XDG_CACHE_HOME" in found.remedy


# Data, matcher, models


@pytest.mark.parametrize("benchmark", ["diningbench", "canteen", "culturalmenu"])
def test_data_that_are_not_prepared(benchmark):
    found = doctor_setup.prepared_data(benchmark)
    assert found.level is Level.WARN
    assert f"lmms-eval-food prepare {benchmark}" in found.remedy


@pytest.mark.parametrize(
    ("benchmark", "counts"),
    [
        ("diningbench", "classification 24"),
        ("canteen", "portions 20; at most 1 pictures"),
        ("culturalmenu", "dishes 30"),
    ],
)
def test_mini_sets_are_no_data_for_results(own_root, benchmark, counts):
    found = doctor_setup.prepared_data(benchmark)
    assert found.level is Level.WARN
    assert counts in found.detail
    assert "made up" in found.detail


def noted(root, benchmark, **fields):
    """Change what prepared.json of a benchmark says."""
    file = root / benchmark / "prepared.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def test_whole_published_data_are_fine(own_root):
    noted(own_root, "canteen", kind="published")
    found = doctor_setup.prepared_data("canteen")
    assert found.level is Level.OK
    assert found.detail.startswith("published@")


def test_placeholders_are_said(own_root):
    noted(own_root, "canteen", kind="local", placeholders=True)
    found = doctor_setup.prepared_data("canteen")
    assert found.level is Level.WARN
    assert "grey squares" in found.detail


def test_a_missing_picture_is_named(own_root):
    noted(own_root, "canteen", kind="published")
    gone = min((own_root / "canteen" / "images").iterdir())
    gone.unlink()
    found = doctor_setup.prepared_data("canteen")
    assert found.level is Level.FAIL
    assert f"1 of 20 pictures are missing, first {gone}" in found.detail


def test_a_table_that_does_not_fit_is_named_with_its_line(own_root):
    with (own_root / "diningbench" / "vqa.jsonl").open("a") as table:
        table.write("{\n")
    found = doctor_setup.prepared_data("diningbench")
    assert found.level is Level.FAIL
    assert "vqa.jsonl, line 25" in found.detail


def test_optional_tables_that_are_absent_are_said(own_root):
    (own_root / "culturalmenu" / "region.jsonl").unlink()
    found = doctor_setup.prepared_data("culturalmenu")
    assert found.level is Level.WARN
    assert "without region" in found.detail


def test_most_pictures_counts_those_of_the_options():
    rows = {
        "dishes": [{"dish_image": "d", "practice_images": ["p"] * 30}],
        "mc": [
            {"images": ["q"], "option_images": [["a"] * 3, ["b"] * 4, ["c"] * 2, ["d"] * 5]},
            {"images": ["q"] * 9, "option_images": []},
        ],
    }
    assert doctor_setup.most_pictures(rows) == 15
    assert doctor_setup.most_pictures({}) == 0


@pytest.mark.parametrize(("canteen", "level"), [(False, Level.WARN), (True, Level.FAIL)])
def test_matcher_without_weights_fails_where_there_are_canteen_data(
    monkeypatch, tmp_path, canteen, level
):
    if canteen:
        (tmp_path / "data" / "canteen").mkdir(parents=True)
    empty = tmp_path / "no-weights"
    empty.mkdir()
    monkeypatch.setenv("LMMS_EVAL_FOOD_MATCHER", f"cross:{empty}")
    found = doctor_setup.food_matcher()
    assert found.level is level
    assert "holds no weights" in found.detail
    assert "minilm" in found.remedy


def test_matcher_of_an_unknown_name(monkeypatch):
    monkeypatch.setenv("LMMS_EVAL_FOOD_MATCHER", "bert")
    assert "no matcher 'bert'" in doctor_setup.food_matcher().detail


@pytest.mark.slow
def test_matcher_that_loads_says_its_weights(monkeypatch):
    monkeypatch.setenv("LMMS_EVAL_FOOD_MATCHER", "minilm")
    found = doctor_setup.food_matcher()
    assert found.level is Level.OK
    assert "sha256:53aa5117" in found.detail


def test_without_judge_or_second_model():
    assert doctor_setup.judge().level is Level.WARN
    assert doctor_setup.second_model() == ok("none; optional")


LOOKS = {"LMMS_EVAL_FOOD_JUDGE": doctor_setup.judge, JUDGE[1]: doctor_setup.second_model}


@pytest.fixture(params=JUDGE)
def configured(request, monkeypatch, own_root):
    """A judge or second model that is the host's local server; returns the check."""
    monkeypatch.setenv(request.param, "local")
    monkeypatch.setenv(f"{request.param}_MODEL", "m")
    return LOOKS[request.param]


def test_a_model_that_replies_is_asked_each_time(monkeypatch, configured):
    with judging(Bench()) as bench:
        monkeypatch.setenv("LLM_JUDGE_URL", f"{bench.url}/v1/chat/completions")
        assert [configured(), configured()] == [ok("local:m replies")] * 2
        assert len(bench.asked) == 2


def test_a_model_that_refuses_fails(monkeypatch, configured):
    with judging(Bench(default=401)) as bench:
        monkeypatch.setenv("LLM_JUDGE_URL", f"{bench.url}/v1/chat/completions")
        found = configured()
    assert (found.level, found.detail) == (Level.FAIL, "local:m does not reply")


@pytest.mark.parametrize("variable", JUDGE)
@pytest.mark.parametrize(
    ("kind", "model", "says"), [("local", "", "names no model"), ("oracle", "m", "no judge server")]
)
def test_a_model_that_is_not_configured_right(monkeypatch, own_root, variable, kind, model, says):
    monkeypatch.setenv(variable, kind)
    monkeypatch.setenv(f"{variable}_MODEL", model)
    found = LOOKS[variable]()
    assert found.level is Level.FAIL
    assert says in found.detail


def test_second_model_needs_its_prompt(monkeypatch):
    monkeypatch.setenv("LMMS_EVAL_FOOD_REPAIR", "local")
    monkeypatch.setenv("LMMS_EVAL_FOOD_REPAIR_MODEL", "m")
    found = doctor_setup.second_model()
    assert found.level is Level.FAIL
    assert "repair.txt" in found.detail


@pytest.mark.parametrize(("there", "level"), [(True, Level.OK), (False, Level.WARN)])
def test_rouge(monkeypatch, there, level):
    error = doctor_setup.rouge.RougeMissingError("ROUGE needs jieba")
    monkeypatch.setattr(doctor_setup.rouge, "load", (lambda: None) if there else raises(error))
    assert doctor_setup.rouge_packages().level is level


# Task files and a run's settings


def test_task_files_follow_includes_and_leave_shared_fields_out():
    files = task_files(TASK_FOLDER)
    assert files["food"].benchmark == ""
    assert files["culturalmenu_region_cot"].limit == 2048
    assert files["culturalmenu_mc"] == TaskFile(
        TASK_FOLDER / "culturalmenu" / "mc.yaml", "culturalmenu", 64, ()
    )
    assert files["diningbench_nutrition_views4"].limit == 16384
    assert not any(name.startswith("_") for name in files)


def test_members_of_nested_groups_come_once():
    def file(*inside):
        return TaskFile(Path("x"), "", None, inside)

    files = {"all": file("g", "t3"), "g": file("t1", "t2"), **{f"t{n}": file() for n in (1, 2, 3)}}
    assert members(["t2", "all"], files) == ["t2", "t1", "t3"]


def test_output_limits_name_the_lowest():
    found = doctor_run.output_limits()
    assert found.level is Level.OK
    assert "diningbench 16,384" in found.detail
    assert "max_new_tokens=64" in found.detail


def run(model="vllm", model_args="", gen_kwargs="", tasks="culturalmenu_mc", **fields):
    content = {"model": model, "model_args": model_args, "gen_kwargs": gen_kwargs, "tasks": tasks}
    return run_config.run_config({**content, **fields})


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        (run(), 4096),
        (run(model_args="model=m, max_new_tokens=64"), 64),
        (run(model_args="max_new_tokens=16"), 64),
        (run(model_args="max_new_tokens=16", gen_kwargs="max_new_tokens=32"), 32),
        (run(gen_kwargs="max_new_tokens=8192"), 8192),
        (run(force_simple=True), 1024),
        (run(force_simple=True, gen_kwargs="max_new_tokens=2048"), 2048),
        (run("openai", force_simple=True), 64),
        (run("openai"), 64),
        (run("openai", gen_kwargs="temperature=0,max_new_tokens=16"), 16),
        (run("openai", model_args="max_new_tokens=9999"), 64),
    ],
)
def test_sent_limit_follows_the_backends_rule(config, limit):
    assert run_config.sent_limit(config, 64) == limit


@pytest.mark.parametrize("task", [16, 64, 2048, 4096, 4097, 16384])
@pytest.mark.parametrize("own", [1, 64, 4096, 20000])
def test_sent_limit_is_what_the_hosts_backend_computes(task, own):
    from lmms_eval.models.simple.vllm import VLLM

    backend = SimpleNamespace(max_new_tokens=own)
    assert run_config.sent_limit(
        run(model_args=f"max_new_tokens={own}"), task
    ) == VLLM._select_max_new_tokens(backend, task)


@pytest.mark.parametrize(
    ("config", "level", "says"),
    [
        (run(model_args="max_new_tokens=64"), Level.OK, "culturalmenu_mc 64"),
        (run(), Level.WARN, "culturalmenu_mc 4,096 for 64"),
        (run(tasks="diningbench_cls,canteen"), Level.OK, "diningbench_cls 16,384"),
        (run(tasks="canteen_portions", model_args="max_new_tokens=8000"), Level.OK, "8,000"),
        (run("openai", gen_kwargs="max_new_tokens=32"), Level.FAIL, "32 for 64"),
        (
            run(tasks="diningbench_vqa", model_args="max_model_len=16384"),
            Level.FAIL,
            "no room for prompts",
        ),
        (run(tasks="diningbench_vqa", model_args="max_model_len=16500"), Level.OK, "16,384"),
        (run(tasks="mmlu"), Level.OK, ""),
    ],
)
def test_limits(config, level, says):
    found = doctor_run.limits(config)
    assert found.level is level
    assert says in found.detail


@pytest.mark.parametrize(
    ("config", "level"),
    [
        (run(), Level.WARN),
        (run(batch_size="1"), Level.WARN),
        (run(batch_size=64), Level.OK),
        (run("async_openai"), Level.WARN),
        (run("async_openai", model_args="num_cpus=8"), Level.OK),
        (run("openai"), Level.OK),
    ],
)
def test_batch(config, level):
    assert doctor_run.batch(config).level is level


@pytest.mark.parametrize(
    ("model_args", "level", "says"),
    [
        ('limit_mm_per_prompt={"image":20},dtype=half', Level.FAIL, "culturalmenu 21"),
        ('limit_mm_per_prompt={"image":21}', Level.OK, "21 allowed; culturalmenu 21"),
        ('limit_mm_per_prompt={"video":1}', Level.OK, "culturalmenu 21"),
        ("dtype=half", Level.OK, "not set"),
    ],
)
def test_pictures_are_compared_with_the_prepared_data(own_root, model_args, level, says):
    found = doctor_prompts.pictures(run(model_args=model_args))
    assert found.level is level
    assert says in found.detail


def test_pictures_without_data_are_not_known():
    found = doctor_prompts.pictures(run(model_args='limit_mm_per_prompt={"image":1}'))
    assert found == ok("1 allowed; culturalmenu ?")


@pytest.mark.parametrize(
    ("config", "level", "says"),
    [
        (run(log_samples=True, output_path="logs"), Level.OK, "culturalmenu_mc"),
        (run(log_samples=True), Level.WARN, "no sample log"),
        (run(tasks="culturalmenu_mc,mmlu"), Level.WARN, "mmlu"),
        (run(tasks=""), Level.WARN, "none named"),
        (run(batchsize=4, log_sample=True), Level.FAIL, "batchsize, log_sample"),
    ],
)
def test_fields(monkeypatch, config, level, says):
    known = {"model", "model_args", "gen_kwargs", "tasks", "log_samples", "output_path"}
    monkeypatch.setattr(doctor_run, "_host_fields", lambda: known)
    found = doctor_run.fields(config)
    assert found.level is level
    assert says in found.detail


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected a mapping"),
        ("[]", "expected a mapping"),
        ("- 3", "expected a mapping"),
        ("model: [", "packaged are"),
        ("2020-13-45", "packaged are"),
        ("model_args: pretrained", "cannot read"),
        ("tasks: [a, b]", "cannot read"),
        ("env: [A]", "cannot read"),
    ],
)
def test_a_config_that_is_none_is_refused(tmp_path, text, says):
    file = tmp_path / "c.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=says):
        run_config.read_runs(str(file))


def test_a_config_that_is_not_there_names_the_packaged_ones(capsys):
    assert doctor.run(SimpleNamespace(config="/nowhere.yaml", json=False)) == 2
    assert "vllm_one_gpu" in capsys.readouterr().err


def test_a_config_may_hold_several_runs(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("- {model: vllm, env: {A: 1}}\n- {model: openai, tasks: 'a, b'}\n")
    first, second = run_config.read_runs(str(file))
    assert (first.model, first.env, first.tasks) == ("vllm", {"A": "1"}, ())
    assert second.tasks == ("a", "b")
    assert "config, run 2: limits" in [check.name for check in doctor_run.checks([first, second])]


@given(st.text(max_size=200))
@settings(max_examples=100)
def test_any_text_is_a_config_or_refused(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("any") / "c.yaml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with suppress(ConfigError):
        assert run_config.read_runs(str(file))


@pytest.mark.slow
def test_command_on_the_mini_sets(mini_root, tmp_path):
    chosen = {
        "LMMS_EVAL_FOOD_DATA": str(mini_root),
        "LMMS_EVAL_FOOD_MATCHER": "minilm",
        "HF_HUB_OFFLINE": "1",
        "XDG_CACHE_HOME": str(tmp_path),
    }
    called = subprocess.run(
        [sys.executable, "-c", COMMAND, "doctor", "--json", "--config", "api_server"],
        env={**os.environ, **chosen},
        capture_output=True,
        text=True,
        check=False,
    )
    assert called.returncode == 0, called.stderr
    found = {row.pop("check"): Finding(**row) for row in json.loads(called.stdout)}
    assert found["tasks"].level == "ok"
    assert found["data: canteen"].level == "warn"
    assert found["matcher"].level == "ok"
    assert found["config: fields"] == Finding("ok", "async_openai, food")
    assert "culturalmenu_mc 64" in found["config: limits"].detail
