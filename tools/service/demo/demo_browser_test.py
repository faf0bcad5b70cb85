"""Pages in a real browser with real firmware in QEMU: what they show is what the framework computes."""

from __future__ import annotations

import json
import os
import signal
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from bmc import artifacts
from tools.report.view import browser
from tools.service.demo import running
from tools.service.validate import framework

SECONDS = 120

# Strokes on a paper of 1 x 1, as people write.
DIGITS = {
    2: [
        [(0.25, 0.3), (0.35, 0.15), (0.6, 0.15), (0.7, 0.3), (0.6, 0.5), (0.25, 0.85), (0.75, 0.85)]
    ],
    5: [
        [
            (0.7, 0.15),
            (0.35, 0.15),
            (0.33, 0.45),
            (0.55, 0.42),
            (0.7, 0.6),
            (0.6, 0.82),
            (0.3, 0.82),
        ]
    ],
    7: [[(0.25, 0.15), (0.75, 0.15), (0.45, 0.85)]],
}


def session(variable: str) -> Any:
    """Returns what `validate` reads about the model whose program the environment names."""
    text = Path(os.environ[variable]).with_suffix(".json").read_text()
    return json.loads(text)["models"][0]


class BrowserTest(browser.PageTest):
    def open(self, demo: running.Demo, *, width: int = 1100, scheme: str = "light") -> None:
        """Opens the page; fails if that writes to the console or asks another server."""
        self.visit(demo.url, width, scheme)
        self.wait(lambda: self.all(".facts dd"))
        self.check_quiet(demo.url)
        self.check_width()

    def wait(self, condition: Any) -> Any:
        return WebDriverWait(self.browser, SECONDS, 0.05).until(lambda _: condition())

    def settle(self) -> None:
        """Waits until no request is under way."""
        self.wait(lambda: not self.all(".busy"))

    def text(self, selector: str) -> str:
        return str(self.browser.find_element(By.CSS_SELECTOR, selector).text)


class DigitsTest(BrowserTest):
    """models/mlp/demo"""

    def draw(self, strokes: Sequence[Sequence[tuple[float, float]]]) -> None:
        self.browser.find_element(By.ID, "clear").click()
        paper = self.browser.find_element(By.ID, "paper")
        size = paper.size["width"]
        for stroke in strokes:
            mouse = ActionChains(self.browser, duration=20)
            for index, (x, y) in enumerate(stroke):
                mouse.move_to_element_with_offset(paper, (x - 0.5) * size, (y - 0.5) * size)
                if index == 0:
                    mouse.click_and_hold()
            mouse.release().perform()
        self.settle()

    def test_a_drawing_is_what_the_framework_says(self) -> None:
        drawings, shown, named = [], [], []
        with running.demo([os.environ["DIGITS"]]) as demo:
            self.open(demo)
            self.assertEqual(self.text("#digit"), "?")
            for strokes in DIGITS.values():
                self.draw(strokes)
                drawings.append(self.each("#pixels i", "Number(element.dataset.value)"))
                shown.append(self.each("#classes .bar", "parseFloat(element.style.width)"))
                named.append(int(self.text("#digit")))
                self.assertRegex(
                    self.text("#cost"), r"^\d,\d\d\d instructions, answered in [\d.]+ m?s$"
                )
            self.screenshot("digits_light")
            self.open(demo, width=500, scheme="dark")
            self.draw(DIGITS[2])
            self.screenshot("digits_dark_narrow")
            self.open(demo, scheme="dark")
            self.draw(DIGITS[5])
            self.screenshot("digits_dark")
        self.assertEqual(named, list(DIGITS))
        images = np.array(drawings, np.float32).reshape(-1, 1, 64)
        model = framework.answers(session("MLP")["importer"], {"0": images})
        logits = np.stack([case[0][0] for case in model.golden.outputs]).astype(np.float64)
        shares = np.exp(logits - logits.max(1, keepdims=True))
        np.testing.assert_allclose(shown, 100 * shares / shares.sum(1, keepdims=True), atol=0.05)

    def test_by_keyboard(self) -> None:
        with running.demo([os.environ["DIGITS"]]) as demo:
            self.open(demo)
            paper = self.browser.find_element(By.ID, "paper")
            paper.send_keys(Keys.SPACE, *[Keys.ARROW_DOWN] * 10)
            self.settle()
            self.assertNotEqual(self.text("#digit"), "?")
            self.assertGreater(sum(self.each("#pixels i", "Number(element.dataset.value)")), 4)
            paper.send_keys(Keys.ESCAPE)
            self.assertEqual(self.text("#digit"), "?")

    def test_an_emulator_that_dies_is_reported(self) -> None:
        with running.demo([os.environ["DIGITS"]]) as demo:
            self.open(demo)
            (emulator,) = demo.emulators()
            os.kill(emulator, signal.SIGKILL)
            self.draw(DIGITS[7])
            self.assertRegex(
                self.text(".alarm"), r"^The program ended: .*; start the demo again\.$"
            )
            self.screenshot("dead")
        self.draw(DIGITS[7])
        self.assertRegex(self.text(".alarm"), r"^The demo has ended: start it again")


class SentencesTest(BrowserTest):
    """models/bert/demo"""

    def fill(self, selector: str, text: str) -> None:
        field = self.browser.find_element(By.ID, selector)
        field.clear()
        field.send_keys(text)

    def test_sentences_are_ranked_as_the_framework_ranks_them(self) -> None:
        about = session("BERT")
        (vectors,) = (case[0] for case in artifacts.load(Path(about["imported"])).golden.outputs)
        query, *others = Path(os.environ["SENTENCES"]).read_text().splitlines()
        scores = dict(zip(others, vectors[1:] @ vectors[0], strict=True))
        with running.demo([os.environ["BERT_DEMO"]]) as demo:
            self.open(demo)
            self.screenshot("sentences_begin")
            self.fill("query", query)
            self.fill("sentences", "\n".join(others))
            self.browser.find_element(By.ID, "rank").click()
            self.wait(lambda: self.all("#rank:enabled"))
            shown = self.each("#ranking .sentence", "element.textContent")
            numbers = self.each("#ranking .number", "Number(element.textContent)")
            self.screenshot("sentences_light")
            self.open(demo, scheme="dark", width=480)
            self.screenshot("sentences_narrow")
        self.assertEqual(shown, sorted(others, key=lambda sentence: -scores[sentence]))
        np.testing.assert_allclose(numbers, [scores[sentence] for sentence in shown], atol=6e-4)


class TextTest(BrowserTest):
    """models/decoder_lm/demo"""

    def write(self, prompt: str) -> None:
        field = self.browser.find_element(By.ID, "prompt")
        field.clear()
        field.send_keys(prompt, Keys.ENTER)
        self.wait(lambda: self.all("#stop:disabled") and self.text("#cost"))

    def test_it_writes_the_frameworks_greedy_text(self) -> None:
        golden = artifacts.load(Path(session("DECODER")["imported"])).golden
        prompt = bytes(golden.inputs[0][0].tolist()).decode()
        text = bytes(int(outputs[0][0]) for outputs in golden.outputs).decode()
        with running.demo([os.environ["DECODER_DEMO"]]) as demo:
            self.open(demo)
            self.write(prompt)
            # The context has room for more characters than the golden data.
            (written,) = self.each("#written", "element.textContent")
            self.assertEqual(written[: len(text)], text)
            self.assertRegex(self.text("#cost"), r"^A token: \d+,\d\d\d instructions, answered")
            self.screenshot("text_light")
            # A second text begins anew.
            self.open(demo, scheme="dark", width=520)
            self.write(prompt)
            self.assertEqual(self.each("#written", "element.textContent"), [written])
            self.screenshot("text_dark_narrow")
            self.open(demo, scheme="dark")
            self.browser.find_element(By.ID, "temperature").send_keys(*[Keys.ARROW_RIGHT] * 5)
            self.write("Features are ")
            self.screenshot("text_dark")
            self.write("Größe")
            self.assertEqual(self.text(".alarm"), "The model knows ASCII characters only.")


if __name__ == "__main__":
    unittest.main()
