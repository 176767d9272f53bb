package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

func TestTheProgramOfTheREADME(t *testing.T) {
	t.Setenv("REDLOCK_MASTERS", strings.Join(redlocktest.URLs(redlocktest.Start(t, 3)), ","))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = w
	defer func() { os.Stdout = stdout }()
	main()
	require.NoError(t, w.Close())
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	assert.Equal(t, "order 42 is ours: true\n", string(text))
}
