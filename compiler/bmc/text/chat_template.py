"""A chat template, in Jinja, as the constant texts between what people type and what a model answers.

The template is evaluated when an image is built, on conversations of made-up lines. What it puts around the lines must
be the same for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bmc.errors import BmcError

# Lines that no template has in it, nor changes.
_TYPED = ("qtypedq0q", "qtypedq1q", "qtypedq2q")
_ANSWERS = ("qsaidq0q", "qsaidq1q")


@dataclass(frozen=True)
class ChatTemplate:
    """Attributes:
    first: what comes before the first typed line.
    answer: what comes between a typed line and its answer.
    next: what comes between an answer and the next line.
    """

    first: str
    answer: str
    next: str


# For a model that goes on with a text.
NONE = ChatTemplate("", "", "")


def compiled(source: str, tokens: Mapping[str, str]) -> ChatTemplate:
    """Returns the texts of a template; raises BmcError if it has no such texts.

    Args:
      source: the template, as `transformers` evaluates it.
      tokens: the variables `bos_token` and the like.
    """
    talks = [_rendered(source, tokens, lines) for lines in range(1, len(_TYPED) + 1)]
    first, _, answer = talks[0].partition(_TYPED[0])
    before, _, rest = talks[1].partition(_ANSWERS[0])
    following, _, _ = rest.partition(_TYPED[1])
    found = ChatTemplate(first, answer, following)
    # Spaces that a template has before an answer are the model's own to say.
    space = before.removeprefix(first + _TYPED[0] + answer)
    if space.strip():
        raise _refused("what comes before an answer is not what asks for one")
    for lines, talk in enumerate(talks, 1):
        if talk != _joined(found, space, lines):
            raise _refused("what is around a line depends on where in the conversation it is")
    return found


def _joined(template: ChatTemplate, space: str, lines: int) -> str:
    text = template.first + _TYPED[0] + template.answer
    for said, typed in zip(_ANSWERS[: lines - 1], _TYPED[1:], strict=False):
        text += space + said + template.next + typed + template.answer
    return text


def _rendered(source: str, tokens: Mapping[str, str], lines: int) -> str:
    """Returns a conversation of so many typed lines, before the answer to the last."""
    messages = [{"role": "user", "content": _TYPED[0]}]
    for said, typed in zip(_ANSWERS[: lines - 1], _TYPED[1:], strict=False):
        messages.append({"role": "assistant", "content": said})
        messages.append({"role": "user", "content": typed})
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = _no_date
    try:
        template = environment.from_string(source)
        return str(
            template.render(messages=messages, add_generation_prompt=True, tools=None, **tokens)
        )
    except BmcError:
        raise
    # Whatever a template of somebody else's does.
    except (
        TemplateError,
        TypeError,
        ValueError,
        ArithmeticError,
        LookupError,
        RecursionError,
    ) as error:
        raise _refused(f"it fails: {type(error).__name__}: {error}") from error


def _raise(message: object) -> NoReturn:
    raise TemplateError(str(message))


def _no_date(_format: object) -> NoReturn:
    raise _refused("it depends on the date")


def _refused(why: str) -> BmcError:
    return BmcError(
        "unsupported-chat-template",
        f"the chat template cannot be compiled for the target: {why}",
        hint="write one of your own with the texts around a line, as docs/how-to/text-on-the-target.md says",
    )


def special_tokens(config: Mapping[str, Any]) -> dict[str, str]:
    """Returns the variables of a template that a `tokenizer_config.json` has: `bos_token` and others."""
    found = {}
    for key, value in config.items():
        if key.endswith("_token"):
            text = value.get("content") if isinstance(value, dict) else value
            if isinstance(text, str):
                found[key] = text
    return found
