"""The environment that the launcher gives to Bazel."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.launcher import main, truststore


class Environment(unittest.TestCase):
    def test_npm_trusts_what_the_machine_trusts(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            bundle = Path(folder) / "bundle.crt"
            bundles = (Path(folder) / "none.crt", bundle)
            with mock.patch.object(truststore, "BUNDLES", bundles):
                self.assertNotIn("NODE_EXTRA_CA_CERTS", main.environment({}))
                bundle.touch()
                for env, expected in (
                    ({}, str(bundle)),
                    ({"SSL_CERT_FILE": "/my/ca.pem"}, "/my/ca.pem"),
                    ({"NODE_EXTRA_CA_CERTS": "/my/node.pem"}, "/my/node.pem"),
                ):
                    self.assertEqual(main.environment(env)["NODE_EXTRA_CA_CERTS"], expected)


if __name__ == "__main__":
    unittest.main()
