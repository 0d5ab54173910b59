"""What a model is called where its file and its file's name say different things."""

from __future__ import annotations

import pytest

from specdesk.model_name import formats, model_name


@pytest.mark.parametrize(
    ("said", "stem", "name"),
    [
        ("", "some-model", "some-model"),
        ("Qwen2.5 Coder 1.5B Instruct", "qwen2.5-coder-1.5b-instruct-q4_k_m", "Qwen2.5 Coder 1.5B Instruct"),
        ("Qwen2.5 Coder 0.5B Instruct AWQ", "coder-0.5b-instruct-q4_k_m", "coder-0.5b-instruct-q4_k_m"),
        ("Model F16", "model-Q8_0", "model-Q8_0"),
        ("Model F16", "model-fp16", "Model F16"),
        ("Model Q4_K_M", "model.Q4_K_M", "Model Q4_K_M"),
        ("Model AWQ", "model", "Model AWQ"),
    ],
)
def test_a_name_that_contradicts_the_file_is_not_believed(said: str, stem: str, name: str) -> None:
    assert model_name(said, stem) == name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Qwen2.5 7B", set()),
        ("a-IQ2_XXS.b", {"iq2_xxs"}),
        ("BF16", {"bf16"}),
        ("x-MXFP4", {"mxfp4"}),
        ("Squirrel Q4", {"q4"}),
        ("f1", set()),
    ],
)
def test_formats_are_whole_words(text: str, found: set[str]) -> None:
    assert formats(text) == found
