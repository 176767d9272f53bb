package check_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
)

func TestEveryVerdictHasTheNameOfItsChecker(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for _, c := range check.Catalog() {
		assert.Equal(t, c.Name, c.Judge(nil, check.Terms{}).Checker)
		assert.Contains(t, string(readme), "\n| "+c.Name+" | ", "chaos/README.md lists every checker")
	}
}
