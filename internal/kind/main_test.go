package kind_test

import (
	"flag"
	"testing"

	"github.com/redlock-go/redlock/internal/testmain"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		_ = seed.Value.Set("1") // make fuzz draws others
	}
	testmain.Run(m)
}
