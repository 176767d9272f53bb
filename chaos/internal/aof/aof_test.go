package aof_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/aof"
)

const (
	early = "#TS:100\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4\r\n#TSX\r\n"
	late  = "#TS:101\r\n*2\r\n$3\r\nDEL\r\n$1\r\na\r\n*2\r\n$3\r\nDEL\r\n$1\r\nb\r\n"
)

func TestCut(t *testing.T) {
	t.Parallel()
	const incr, manifest = "appendonly.aof.2.incr.aof", "appendonly.aof.manifest"
	for name, c := range map[string]struct {
		file, content string
		loss          aof.Loss
		left          string
	}{
		"nothing is lost": {incr, early + late, aof.Nothing, early + late},
		"the last second is lost, in the midst of a record": {incr, early + late, aof.Tail, early + late[:9+7]},
		"the first second is lost":                          {incr, early, aof.Tail, early[:9+7]},
		"a file that is torn already ends where it did":     {incr, early + late[:9+3], aof.Tail, early + late[:9+3]},
		"a file without timestamps is kept":                 {incr, late[9:], aof.Tail, late[9:]},
		"an empty file is":                                  {incr, "", aof.Tail, ""},
		"no record is left of a new disk":                   {incr, early, aof.Everything, ""},
		"and no base": {
			manifest, "file appendonly.aof.1.base.rdb seq 1 type b\nfile appendonly.aof.2.incr.aof seq 2 type i\n",
			aof.Everything, "file appendonly.aof.2.incr.aof seq 2 type i\n",
		},
		"a lost tail is not the base's": {"appendonly.aof.1.base.rdb", "REDIS0010", aof.Tail, "REDIS0010"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.left, string(aof.Cut(c.file, []byte(c.content), c.loss)))
		})
	}
}
