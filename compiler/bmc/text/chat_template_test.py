"""Chat templates are constant texts around what is said, or refused."""

from __future__ import annotations

import unittest

from bmc.errors import BmcError
from bmc.text import chat_template

CHATML = (
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}"
    "{{ '<|im_start|>system\\nBe brief.<|im_end|>\\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
LLAMA2 = (
    "{% for message in messages %}{% if message['role'] == 'user' %}"
    "{{ bos_token + '[INST] ' + message['content'].strip() + ' [/INST]' }}{% else %}"
    "{{ ' ' + message['content'].strip() + ' ' + eos_token }}{% endif %}{% endfor %}"
)


class ChatTemplateTest(unittest.TestCase):
    def test_the_texts_around_a_line(self) -> None:
        found = chat_template.compiled(CHATML, {})
        self.assertEqual(found.first, "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n")
        self.assertEqual(found.answer, "<|im_end|>\n<|im_start|>assistant\n")
        self.assertEqual(found.next, "<|im_end|>\n<|im_start|>user\n")

    def test_a_space_before_an_answer_is_the_models_own(self) -> None:
        found = chat_template.compiled(LLAMA2, {"bos_token": "<s>", "eos_token": "</s>"})
        self.assertEqual(
            (found.first, found.answer, found.next),
            ("<s>[INST] ", " [/INST]", " </s><s>[INST] "),
        )

    def test_refusals_say_why(self) -> None:
        for template, why in (
            (
                "{% for m in messages %}{{ m.content }}{{ loop.index // 3 or '' }}{% endfor %}",
                "depends on where",
            ),
            ("{{ strftime_now('%d') }}{{ messages[0].content }}", "date"),
            ("{{ raise_exception('Only two turns') }}", "Only two turns"),
            ("{{ messages[0].content ", "TemplateSyntaxError"),
            ("{{ messages.__class__.__mro__ }}", "SecurityError"),
            ("{% for i in range(1000000000) %}x{% endfor %}", "Range too big"),
            ("nothing of the line", "is not what asks"),
            (CHATML.replace("<|im_start|>assistant", "<|think|>"), "is not what asks"),
        ):
            with self.subTest(template), self.assertRaises(BmcError) as caught:
                chat_template.compiled(template, {})
            self.assertIn(why, caught.exception.message)


if __name__ == "__main__":
    unittest.main()
