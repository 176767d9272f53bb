//go:build cgo

package exact

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/bytecodealliance/wasmtime-go/v39"
)

// Available returns nil, or why nothing can be played exactly here.
func Available() error { return nil }

const (
	// collector are the settings of the guest's garbage collector. It runs at moments that depend on them, so they are
	// a part of what a seed means.
	gogc, memlimit = "1600", "1GiB"
	// memory is the most that an instance may use.
	memory = 3 << 30
	// tick is how much later each reading of the clock is.
	tick = time.Microsecond
	// readings is the number of readings of the clock after which an instance is stuck. A schedule takes some 100,000.
	readings = 200_000_000
)

// module is a compiled program.
type module struct {
	engine *wasmtime.Engine
	module *wasmtime.Module
}

// compile compiles a program, or takes it from the cache of wasmtime.
func compile(program []byte) (*module, error) {
	config := wasmtime.NewConfig()
	if err := config.CacheConfigLoadDefault(); err != nil {
		return nil, err
	}
	m := &module{engine: wasmtime.NewEngineWithConfig(config)}
	var err error
	m.module, err = wasmtime.NewModule(m.engine, program)
	return m, err
}

var errStuck = errors.New("the program is stuck: it read the clock too often")

// run runs the program from its beginning to its end, and returns its exit status.
func (m *module) run(i instance) (status int, err error) {
	store := wasmtime.NewStore(m.engine)
	defer store.Close()
	store.Limiter(memory, -1, -1, -1, -1)
	linker := wasmtime.NewLinker(m.engine)
	linker.AllowShadowing(true)
	if err := linker.DefineWasi(); err != nil {
		return 0, err
	}
	random := rand.NewChaCha8(sha256.Sum256(fmt.Appendf(nil, "redlock %d %d", i.seed, i.order)))
	keys, values := []string{"GOGC", "GOMEMLIMIT", "PWD"}, []string{gogc, memlimit, path.Join("/", i.dir)}
	if i.order > 0 {
		keys, values = append(keys, "REDLOCK_YIELDS"), append(values, yields[random.Uint64()%uint64(len(yields))])
	}
	if err := chance(store, linker, random); err != nil {
		return 0, err
	}
	wasi := wasmtime.NewWasiConfig()
	wasi.SetArgv(i.args)
	wasi.SetEnv(keys, values)
	temp, err := os.MkdirTemp("", "redlock-exact-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	out, log := filepath.Join(temp, "out"), filepath.Join(temp, "err")
	if err := errors.Join(wasi.SetStdoutFile(out), wasi.SetStderrFile(log)); err != nil {
		return 0, err
	}
	if i.root != "" {
		if err := errors.Join(
			wasi.PreopenDir(i.root, "/", wasmtime.DIR_READ, wasmtime.FILE_READ),
			wasi.PreopenDir(temp, "/tmp", wasmtime.DIR_READ|wasmtime.DIR_WRITE, wasmtime.FILE_READ|wasmtime.FILE_WRITE),
		); err != nil {
			return 0, err
		}
	}
	defer func() { err = errors.Join(err, copyFile(i.stdout, out), copyFile(i.stderr, log)) }()
	store.SetWasi(wasi)
	running, err := linker.Instantiate(store, m.module)
	if err != nil {
		return 0, err
	}
	_, err = running.GetFunc(store, "_start").Call(store)
	var ended *wasmtime.Error
	if errors.As(err, &ended) {
		if status, ok := ended.ExitStatus(); ok {
			return int(status), nil
		}
	}
	return 0, err
}

func copyFile(to io.Writer, file string) error {
	text, err := os.ReadFile(file)
	if err == nil {
		_, err = to.Write(text)
	}
	return err
}

// chance gives the program its random bits and its time.
func chance(store *wasmtime.Store, linker *wasmtime.Linker, random *rand.ChaCha8) error {
	clock := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	read := 0
	data := func(c *wasmtime.Caller) []byte { return c.GetExport("memory").Memory().UnsafeData(store) }
	ok := []wasmtime.Val{wasmtime.ValI32(0)}
	i32, i64 := wasmtime.NewValType(wasmtime.KindI32), wasmtime.NewValType(wasmtime.KindI64)
	type function = func(*wasmtime.Caller, []wasmtime.Val) *wasmtime.Trap
	define := func(name string, params []*wasmtime.ValType, f function) error {
		return linker.FuncNew("wasi_snapshot_preview1", name, wasmtime.NewFuncType(params, []*wasmtime.ValType{i32}),
			func(c *wasmtime.Caller, args []wasmtime.Val) ([]wasmtime.Val, *wasmtime.Trap) { return ok, f(c, args) })
	}
	return errors.Join(
		// (buffer, length)
		define("random_get", []*wasmtime.ValType{i32, i32}, func(c *wasmtime.Caller, a []wasmtime.Val) *wasmtime.Trap {
			_, _ = random.Read(data(c)[uint32(a[0].I32()):][:uint32(a[1].I32())]) // never fails
			return nil
		}),
		// (id, precision, result)
		define("clock_time_get", []*wasmtime.ValType{i32, i64, i32},
			func(c *wasmtime.Caller, a []wasmtime.Val) *wasmtime.Trap {
				if read++; read > readings {
					return wasmtime.NewTrap(errStuck.Error())
				}
				clock += int64(tick)
				binary.LittleEndian.PutUint64(data(c)[uint32(a[2].I32()):], uint64(clock))
				return nil
			}),
		// (subscriptions, events, number of subscriptions, number of events): the first subscription is due at once.
		define("poll_oneoff", []*wasmtime.ValType{i32, i32, i32, i32},
			func(c *wasmtime.Caller, a []wasmtime.Val) *wasmtime.Trap {
				if read++; read > readings {
					return wasmtime.NewTrap(errStuck.Error())
				}
				mem := data(c)
				in, out := mem[uint32(a[0].I32()):][:48], mem[uint32(a[1].I32()):][:32]
				clear(out)
				copy(out, in[:8]) // whose it is
				out[10] = in[8]   // what kind of event
				if in[8] == 0 {   // a clock: the time is over
					if until := int64(binary.LittleEndian.Uint64(in[24:])); in[40]&1 != 0 {
						clock = max(clock, until)
					} else {
						clock += until
					}
				}
				binary.LittleEndian.PutUint32(mem[uint32(a[3].I32()):], 1)
				return nil
			}),
	)
}

// yields are the probabilities with which an operation of the simulated network or of a clock lets all other goroutines
// that are ready go first.
var yields = []string{"0.05", "0.2", "0.5"}
