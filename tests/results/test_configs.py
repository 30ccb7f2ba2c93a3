"""The packaged configs mean to the host what they say."""

import inspect
import json
import subprocess
import sys

import pytest
import yaml
from support import REPOSITORY

from lmms_eval_food.results import configs
from lmms_eval_food.results.cli import main
from lmms_eval_food.results.doctor.run_config import read_runs

NAMES = ("api_server", "ollama", "vllm_data_parallel", "vllm_one_gpu", "vllm_tensor_parallel")
VLLM = tuple(name for name in NAMES if name.startswith("vllm"))
# Arguments of vllm.LLM that the host's backend hands on.
ENGINE_ARGUMENTS = {"dtype", "max_model_len", "limit_mm_per_prompt", "mm_processor_kwargs"}

CAPTURE = """
import json, os, sys
import lmms_eval.__main__ as host
got = {}
host.cli_evaluate_single = lambda args: got["runs"].append(vars(args)) or (None, None)
for name in sys.argv[2:]:
    os.environ.pop("LMMS_IMAGE_ENCODE_FORMAT", None)
    got["runs"] = []
    sys.argv = ["lmms-eval", "--config", name]
    host.cli_evaluate()
    got[name] = got["runs"], os.environ.get("LMMS_IMAGE_ENCODE_FORMAT")
del got["runs"]
json.dump(got, open(OUT, "w"), default=str)
"""


@pytest.fixture(scope="module")
def as_the_host_reads(tmp_path_factory):
    """Every config's runs and image format, after the host's own parsing and checking."""
    out = tmp_path_factory.mktemp("host") / "got.json"
    files = [str(REPOSITORY / "results" / "configs" / f"{name}.yaml") for name in NAMES]
    script = CAPTURE.replace("OUT", repr(str(out)))
    subprocess.run([sys.executable, "-c", script, "-", *files], check=True, capture_output=True)
    return dict(zip(NAMES, json.loads(out.read_text()).values(), strict=True))


def test_names():
    assert tuple(configs.names()) == NAMES


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_host_takes_each_config_as_one_run(name, as_the_host_reads):
    (run,), image_format = as_the_host_reads[name]
    written = yaml.safe_load(configs.text(name))
    assert image_format == "PNG"
    assert {key: run[key] for key in written if key != "env"} == {
        key: value for key, value in written.items() if key != "env"
    }


@pytest.mark.parametrize("name", NAMES)
def test_backends_take_the_arguments(name):
    from lmms_eval.models.chat import async_openai, vllm

    backend = {"vllm": vllm.VLLM, "async_openai": async_openai.AsyncOpenAIChat}
    (run,) = read_runs(name)
    known = set(inspect.signature(backend[run.model].__init__).parameters)
    known |= ENGINE_ARGUMENTS if run.model == "vllm" else set()
    assert set(run.model_args) <= known


@pytest.mark.parametrize("name", VLLM)
def test_vllm_arguments_arrive_as_the_backend_wants_them(name):
    (run,) = read_runs(name)
    assert run.model_args["max_new_tokens"] == 64
    assert run.model_args["max_model_len"] == 98304
    assert json.loads(run.model_args["limit_mm_per_prompt"]) == {"image": 100}
    assert json.loads(run.model_args["mm_processor_kwargs"]) == {"max_pixels": 1003520}


@pytest.mark.parametrize("name", NAMES)
def test_another_model_takes_the_place_of_the_files_own_and_nothing_else(name):
    before, after = yaml.safe_load(configs.text(name)), yaml.safe_load(configs.text(name, "my/m"))
    (run,) = read_runs(name)
    assert after["model_args"] == before["model_args"].replace(
        f"model={run.model_args['model']},", "model=my/m,"
    )
    assert after["model_args"].startswith("model=my/m,")
    assert {**after, "model_args": ""} == {**before, "model_args": ""}


def test_a_backslash_in_a_models_name_stays():
    assert "  model=C:\\1\\g<0>,\n" in configs.text("ollama", "C:\\1\\g<0>")


@pytest.mark.parametrize("model", ["", " ", "a,b", "a\nb"])
def test_a_model_that_model_args_cannot_hold_is_refused(model):
    with pytest.raises(ValueError, match="hold no comma"):
        configs.text("ollama", model)


def test_summaries_are_sentences_of_one_line():
    assert all(
        configs.summary(name).endswith(".") and len(configs.summary(name)) < 90 for name in NAMES
    )


def test_command_lists_the_configs(capsys):
    assert main(["config"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(NAMES)


def test_command_prints_a_config_that_doctor_can_read(capsys, tmp_path):
    assert main(["config", "ollama", "--model", "gemma3:4b"]) == 0
    file = tmp_path / "my.yaml"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    (run,) = read_runs(str(file))
    assert (run.model, run.model_args["model"]) == ("async_openai", "gemma3:4b")


def test_command_names_the_configs_where_there_is_none_of_that_name(capsys):
    assert main(["config", "tpu"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "no config 'tpu'" in said.err
    assert "vllm_one_gpu" in said.err
