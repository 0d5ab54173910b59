"""Chat templates come with the model file: rendered as written, in a sandbox, and their failures are one clear line."""

from __future__ import annotations

import pytest

from specdesk.engine.message import Message
from specdesk.engine.template import render
from specdesk.errors import ModelError
from tests.tiny.gguf_models import CHATML

HELLO = [
    Message("system", "Be brief."),
    Message("user", "Hello\n  there"),
    Message("assistant", "Hi."),
    Message("user", "{{ 7 * 7 }}"),
]


def rendered(template: str, messages: list[Message] = HELLO) -> str:
    return render(template, messages, bos="<s>", eos="</s>")


def test_a_conversation() -> None:
    assert rendered(CHATML) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello\n  there<|im_end|>\n"
        "<|im_start|>assistant\nHi.<|im_end|>\n<|im_start|>user\n{{ 7 * 7 }}<|im_end|>\n<|im_start|>assistant\n"
    )


def test_the_names_a_template_may_use() -> None:
    assert rendered("{{ bos_token }}{{ messages[1]['content'] }}{{ eos_token }}") == "<s>Hello\n  there</s>"


def test_blocks_leave_no_blank_lines() -> None:
    """Models were trained with the block trimming of Transformers."""
    assert rendered("{% if true %}\nyes\n  {% endif %}\nend") == "yes\nend"


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.__class__.__base__.__subclasses__() }}",
        "{{ raise_exception.__globals__['__builtins__']['open']('x', 'w') }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{{ (''|attr('__class__')).mro() }}",
        "{{ '{0.__class__.__mro__}'.format('') }}",
        "{{ messages.append(1) }}",
    ],
)
def test_a_way_out_of_the_sandbox_is_barred(template: str) -> None:
    with pytest.raises(ModelError, match="chat template failed"):
        rendered(template)


@pytest.mark.parametrize(
    "template",
    [
        "{% for message in messages %}",
        "{% endif %}",
        "{{ messages",
        "{% no_such_tag %}",
        "{{ messages | no_such_filter }}",
        "{{ no_such_name.content }}",
        "{{ messages[0].content.no.such.thing }}",
        "{{ 1 / 0 }}",
        "{{ '%d' % 'x' }}",
        "{{ '{}'.format() }}",
        "{{ '%(x)s' % {} }}",
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
        "{% for i in range(10**9) %}{% endfor %}",
        "{{ 1 + messages }}",
    ],
)
def test_a_broken_template_is_one_line_with_a_way_on(template: str) -> None:
    with pytest.raises(ModelError, match=r"chat template failed: .") as failure:
        rendered(template)
    assert "--raw" in failure.value.hint
    assert "\n" not in failure.value.message


def test_a_template_without_an_end_is_ended() -> None:
    """Each loop is within what the sandbox allows, but not all of them together."""
    endless = "{% for i in range(99999) %}{% for j in range(99999) %}{{ j }}{% endfor %}{% endfor %}"
    with pytest.raises(ModelError, match=r"took longer than 0\.2 s"):
        render(endless, HELLO, bos="", eos="", limit_s=0.2)
    assert rendered("ok") == "ok"


def test_a_template_may_refuse_a_conversation_in_its_own_words() -> None:
    template = "{% if messages[0].role == 'system' %}{{ raise_exception('No system prompt, please.') }}{% endif %}ok"
    assert rendered(template, HELLO[1:2]) == "ok"
    with pytest.raises(ModelError, match="No system prompt, please"):
        rendered(template)
