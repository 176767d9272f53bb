package stacktest_test

import (
	"testing"

	"github.com/redlock-go/redlock/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }
