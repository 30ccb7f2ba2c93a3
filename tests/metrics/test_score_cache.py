import os
import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lmms_eval_food.metrics.matching import normalise
from lmms_eval_food.metrics.score_cache import FILE_NAME, ScoreCache

RICE, TEA = ("rice", ""), ("tea", "")


def vector(*values):
    return np.array(values, dtype=np.float32)


def stored(cache, *keys):
    return {key: found.tolist() for key, found in cache.get(keys).items()}


@pytest.mark.parametrize("on_disk", [False, True])
def test_what_is_put_is_found(tmp_path, on_disk):
    cache = ScoreCache(tmp_path if on_disk else None, "model")
    assert stored(cache, RICE) == {}
    cache.put({RICE: vector(1, 2.5), ("rice", "tea"): vector(0.25)})
    assert stored(cache, RICE, TEA, ("rice", "tea")) == {RICE: [1, 2.5], ("rice", "tea"): [0.25]}
    assert list(tmp_path.iterdir()) == [] or on_disk


def test_the_file_outlives_the_process(tmp_path):
    first = ScoreCache(tmp_path / "made" / "here", "model")
    first.put({RICE: vector(0.5)})
    first.close()
    assert stored(ScoreCache(tmp_path / "made" / "here", "model"), RICE, TEA) == {RICE: [0.5]}


def test_another_matchers_values_are_not_seen(tmp_path):
    ScoreCache(tmp_path, "model 1").put({RICE: vector(0.5)})
    assert stored(ScoreCache(tmp_path, "model 2"), RICE) == {}


def test_the_first_value_stays(tmp_path):
    one, other = ScoreCache(tmp_path, "model"), ScoreCache(tmp_path, "model")
    one.put({RICE: vector(0.5)})
    one.put({RICE: vector(0.75)})
    other.put({RICE: vector(0.25)})
    assert stored(one, RICE) == {RICE: [0.5]}
    assert stored(ScoreCache(tmp_path, "model"), RICE) == {RICE: [0.5]}


def test_a_closed_cache_may_be_used_again(tmp_path):
    cache = ScoreCache(tmp_path, "model")
    cache.close()
    cache.put({RICE: vector(0.5)})
    cache.close()
    cache.put({TEA: vector(0.25)})
    assert stored(ScoreCache(tmp_path, "model"), RICE, TEA) == {RICE: [0.5], TEA: [0.25]}


@given(
    st.dictionaries(
        st.text(st.characters(codec=None)).map(normalise),
        hnp.arrays(np.float32, 3, elements=st.floats(-1, 1, width=32)),
        max_size=5,
    )
)
def test_any_name_comes_back_unchanged(tmp_path_factory, names):
    folder = tmp_path_factory.mktemp("cache")
    vectors = {(name, ""): value for name, value in names.items()}
    cache = ScoreCache(folder, "model")
    cache.put(vectors)
    cache.close()
    expected = {key: value.tolist() for key, value in vectors.items()}
    assert stored(ScoreCache(folder, "model"), *vectors) == expected


def test_a_file_that_is_no_database_is_begun_anew(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b"half a download, perhaps" * 100)
    cache = ScoreCache(tmp_path, "model")
    with pytest.warns(RuntimeWarning, match="not a database; deleted and begun anew"):
        cache.put({RICE: vector(0.5)})
    cache.close()
    assert stored(ScoreCache(tmp_path, "model"), RICE) == {RICE: [0.5]}


def test_a_damaged_database_is_begun_anew(tmp_path):
    cache = ScoreCache(tmp_path, "model")
    keys = [(f"food {number}", "") for number in range(2000)]
    cache.put(dict.fromkeys(keys, vector(0.5)))
    cache.close()
    file = tmp_path / FILE_NAME
    content = bytearray(file.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    file.write_bytes(content)
    damaged = ScoreCache(tmp_path, "model")
    with pytest.warns(RuntimeWarning, match="malformed; deleted and begun anew"):
        assert stored(damaged, keys[0]) == {}
    damaged.put({keys[0]: vector(0.25)})
    damaged.close()
    assert stored(ScoreCache(tmp_path, "model"), *keys) == {keys[0]: [0.25]}


def test_without_a_usable_folder_memory_serves(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = ScoreCache(tmp_path / "file", "model")
    with pytest.warns(RuntimeWarning, match="going on in memory only"):
        cache.put({RICE: vector(0.5)})
    assert stored(cache, RICE) == {RICE: [0.5]}


def test_a_file_of_another_layout_is_left_alone(tmp_path):
    other = sqlite3.connect(tmp_path / FILE_NAME)
    with other:
        other.execute("CREATE TABLE vectors (something TEXT)")
    other.close()
    cache = ScoreCache(tmp_path, "model")
    with pytest.warns(RuntimeWarning, match="going on in memory only"):
        cache.put({RICE: vector(0.5)})
    assert stored(cache, RICE) == {RICE: [0.5]}
    again = sqlite3.connect(tmp_path / FILE_NAME)
    assert again.execute("SELECT count(*) FROM vectors").fetchone() == (0,)
    again.close()


def test_several_threads_lose_nothing(tmp_path):
    cache = ScoreCache(tmp_path, "model")

    def work(start):
        for number in range(start, start + 30):
            cache.put({(str(number), ""): vector(number)})
            cache.get([(str(number - 5), "")])

    threads = [threading.Thread(target=work, args=(20 * index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cache.close()
    keys = [(str(number), "") for number in range(130)]
    expected = {key: [float(key[0])] for key in keys}
    assert stored(ScoreCache(tmp_path, "model"), *keys) == expected


WRITER = """
import sys, warnings
from pathlib import Path
import numpy as np
from lmms_eval_food.metrics.score_cache import ScoreCache
warnings.simplefilter("error")
cache = ScoreCache(Path(sys.argv[1]), "model")
for number in range(int(sys.argv[2]), int(sys.argv[2]) + 200):
    cache.put({(str(number), ""): np.array([number], dtype=np.float32)})
"""


@pytest.mark.slow
def test_several_processes_lose_nothing(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, str(100 * index)]) for index in range(4)]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0, 0]
    keys = [(str(number), "") for number in range(500)]
    assert len(ScoreCache(tmp_path, "model").get(keys)) == 500
