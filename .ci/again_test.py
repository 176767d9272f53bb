"""Tests of .ci/again on small modules and the real go test: python3 .ci/again_test.py"""

import os
import pathlib
import subprocess
import tempfile
import unittest

AGAIN = pathlib.Path(__file__).with_name("again").resolve()
# A test that fails when it runs for the first time.
ONCE = """func TestB(t *testing.T) {
	if _, err := os.Stat("seen"); err != nil { os.WriteFile("seen", nil, 0o600); t.Fatal("for the first time") }
	%s
}"""
PACKAGES = {
    "passes": "func TestA(t *testing.T) {}",
    "once": "func TestA(t *testing.T) {}\n" + ONCE % "",
    "fails": 'func TestA(t *testing.T) { t.Fatal("one is not two") }',
    "many": "\n".join('func Test%d(t *testing.T) { t.Fatal("no") }' % i for i in range(6)),
    "racy": 'func TestA(t *testing.T) { t.Log("WARNING: DATA RACE"); t.Fail() }',
    "child": 'func TestA(t *testing.T) { t.Fatal("exit status 66") }',
    "rapid": 'func TestA(t *testing.T) { t.Fatal("[rapid] failed after 3 tests") }',
    "panics": 'func TestA(t *testing.T) { var p *int; *p = 1 }',
    "exits": "func TestA(t *testing.T) { os.Exit(3) }",
    "leaves": "func TestA(t *testing.T) {}\nfunc TestMain(m *testing.M) { m.Run(); os.Exit(1) }",
    "unbuilt": "func TestA(t *testing.T) { undefined() }",
    "skips": ONCE % 't.Skip("no")',
    "simulation": ONCE % "",
    "detector": """func TestMain(m *testing.M) {
	if _, err := os.Stat("seen"); err != nil {
		os.WriteFile("seen", nil, 0o600); os.Stdout.WriteString("ThreadSanitizer: CHECK failed: x\\n"); os.Exit(66)
	}
	os.Exit(m.Run())
}
func TestA(t *testing.T) {}""",
}


def run(*names):
    """Run go test on packages, and then .ci/again on its report; return the exit status and the output of the latter."""
    with tempfile.TemporaryDirectory() as d:
        root = pathlib.Path(d)
        (root / "go.mod").write_text("module example.com/m\n\ngo 1.26\n")
        for name in names:
            imports = 'import "testing"' + ('\nimport "os"' if "os." in PACKAGES[name] else "")
            (root / name).mkdir()
            (root / name / "x_test.go").write_text("package x\n%s\n%s\n" % (imports, PACKAGES[name]))
        env = dict(os.environ, GOWORK="off")
        with open(root / "report.json", "w") as report:
            subprocess.run(["go", "test", "-vet=off", "-json", "-count=1", "./..."], cwd=d, env=env, stdout=report)
        done = subprocess.run([AGAIN, "report.json", "-vet=off"], cwd=d, env=env, stdout=subprocess.PIPE, text=True)
        return done.returncode, done.stdout


class Again(unittest.TestCase):
    def test_passes_alone(self):
        for names in (["passes", "once"], ["detector"], ["detector", "once"]):
            with self.subTest(names):
                status, out = run(*names)
                self.assertEqual(0, status, out)
                self.assertIn("FAILED ONCE, and then passed alone: ", out)

    def test_fails_or_skips_again(self):
        for names in (["fails"], ["once", "fails"], ["skips"]):
            with self.subTest(names):
                status, out = run(*names)
                self.assertEqual(1, status, out)
                self.assertIn("Run again", out)

    def test_nothing_is_run_again(self):
        for name in ("passes", "many", "racy", "child", "rapid", "panics", "exits", "leaves", "unbuilt", "simulation"):
            with self.subTest(name):
                status, out = run(name) if name == "passes" else run(name, "once")
                self.assertEqual(1, status, out)
                self.assertIn("Nothing is run again", out)


if __name__ == "__main__":
    unittest.main()
