package quorum_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/quorum"
)

// With the 8 bytes that the allocator adds, 888 bytes fill its size class of 896. The next one has 1,024.
func TestARoundOfFiveNodesFillsItsSizeClass(t *testing.T) {
	t.Parallel()
	assert.LessOrEqual(t, quorum.SizeOfRound(), uintptr(888))
}
