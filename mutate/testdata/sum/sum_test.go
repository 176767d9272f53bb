package sum

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestSum(t *testing.T) {
	if sum, n, err := Sum(5, 1, 2, 3, 5, 9); sum != 6 || n != 3 || err != nil {
		t.Fatal(sum, n, err)
	}
	if _, _, err := Sum(5, -1); !errors.Is(err, ErrNegative) {
		t.Fatal(err)
	}
}

func TestBoth(t *testing.T) {
	if !Both(true, true) || Both(true, false) {
		t.Fatal()
	}
}

func TestScript(t *testing.T) {
	if !strings.Contains(Script(), "a == b") {
		t.Fatal()
	}
}

func TestFails(t *testing.T) { t.Fatal("always") }

func TestIsSkipped(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip(err)
	}
}
