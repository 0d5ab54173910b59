"""What this build of llama.cpp cannot do is refused before models are fetched and before a screen is opened."""

from __future__ import annotations

import pytest

from specdesk import paths
from specdesk.engine.weights import supports_gpu
from tests.cli.shell import specdesk
from tests.cli.terminal import Start
from tests.tiny.gguf_models import TinyPair

SAID = "--gpu-layers 99: this build of llama.cpp cannot put layers on a GPU"

pytestmark = pytest.mark.skipif(supports_gpu(), reason="this build of llama.cpp has a GPU backend")


@pytest.mark.parametrize("command", [("run", "x"), ("bench", "--quick"), ("prove", "--quick"), ("tune",)])
def test_layers_on_a_gpu_are_refused_before_anything_is_fetched(command: tuple[str, ...]) -> None:
    """Bug: 1.6 GB were fetched first."""
    # Where it would fetch, this is what ends it.
    done = specdesk(*command, "--gpu-layers", 99, env={"HF_HUB_OFFLINE": "1"})
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert SAID in done.stderr
    assert not paths.models_dir().exists()


@pytest.mark.parametrize("here", [True, False])
def test_the_chat_refuses_them_before_the_screen_is_taken(open_chat: Start, tiny_pair: TinyPair, here: bool) -> None:
    """Bug: it ended in a chat with no models loaded, which offered to load them again."""
    models = ("--target", tiny_pair.target, "--draft", tiny_pair.draft) if here else ()
    chat = open_chat("--gpu-layers", 99, *models)
    assert chat.ended() == 2
    assert SAID in chat.last
    assert "\x1b[?1049h" not in chat.last
