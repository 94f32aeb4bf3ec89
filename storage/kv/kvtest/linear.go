package kvtest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/settee-db/settee/storage/kv"
)

// registers are few, so that transactions meet at the same keys; a single digit tells them apart in
// keys.
const registers = 4

// registerState is the content of the registers; 0 is an absent key.
type registerState [registers]int

// registerOp is a transaction over the registers.
type registerOp struct {
	// kind is a key of registerKinds.
	kind string
	// from and to are numbers of registers; a kind that has one operand uses to.
	from, to int
	// value is different in each operation of a history, so that a read tells which write it has
	// seen.
	value int
}

// registerKinds are the transactions, each as its steps on the store and on the state. Both return
// what was read.
var registerKinds = map[string]struct {
	run   func(t testing.TB, s *store, op registerOp) registerState
	model func(state registerState, op registerOp) (next, read registerState)
}{
	"read all": {
		func(t testing.TB, s *store, _ registerOp) (read registerState) {
			s.view(func(tx kv.ReadTx) { read = readRegisters(t, tx) })
			return read
		},
		func(state registerState, _ registerOp) (next, read registerState) { return state, state },
	},
	"write": {
		func(t testing.TB, s *store, op registerOp) (read registerState) {
			s.update(func(tx kv.Tx) { setNumber(tx, register(op.to), op.value) })
			return read
		},
		func(state registerState, op registerOp) (next, read registerState) {
			state[op.to] = op.value
			return state, read
		},
	},
	"copy": {
		func(t testing.TB, s *store, op registerOp) (read registerState) {
			s.update(func(tx kv.Tx) {
				read = registerState{number(t, tx, register(op.from))}
				setNumber(tx, register(op.to), read[0])
			})
			return read
		},
		func(state registerState, op registerOp) (next, read registerState) {
			read[0] = state[op.from]
			state[op.to] = read[0]
			return state, read
		},
	},
	"read all and write": {
		func(t testing.TB, s *store, op registerOp) (read registerState) {
			s.update(func(tx kv.Tx) {
				read = readRegisters(t, tx)
				setNumber(tx, register(op.to), op.value)
			})
			return read
		},
		func(state registerState, op registerOp) (next, read registerState) {
			read = state
			state[op.to] = op.value
			return state, read
		},
	},
	"clear": {
		func(t testing.TB, s *store, op registerOp) (read registerState) {
			begin, end := min(op.from, op.to), max(op.from, op.to)
			s.update(func(tx kv.Tx) { tx.ClearRange([]byte(register(begin)), []byte(register(end))) })
			return read
		},
		func(state registerState, op registerOp) (next, read registerState) {
			clear(state[min(op.from, op.to):max(op.from, op.to)])
			return state, read
		},
	},
	"raise": {
		func(t testing.TB, s *store, op registerOp) (read registerState) {
			s.update(func(tx kv.Tx) {
				tx.Atomic(kv.ByteMax, []byte(register(op.to)), strconv.AppendInt(nil, int64(op.value), 10))
			})
			return read
		},
		func(state registerState, op registerOp) (next, read registerState) {
			state[op.to] = max(state[op.to], op.value) // all values have as many digits
			return state, read
		},
	},
}

// register is the key of a register. The keys follow each other, so that one range has them all.
func register(i int) string { return fmt.Sprint("register", i) }

// readRegisters reads all registers in one range.
func readRegisters(t testing.TB, tx kv.ReadTx) (state registerState) {
	it := tx.Range([]byte(register(0)), []byte(register(registers)), kv.RangeOptions{})
	defer it.Close()
	for it.Next() {
		i := it.Key()[len("register")] - '0'
		state[i], _ = strconv.Atoi(string(it.Value()))
	}
	if it.Err() != nil {
		t.Errorf("read of the registers: %v", it.Err())
	}
	return state
}

// Each transaction of a concurrent history has taken effect at one moment between its call and its
// return.
func testLinearizable(t *testing.T, s *store) {
	rng, _ := seeded(t)
	rounds, clients, each := 20, 4, 12
	if testing.Short() {
		rounds = 5
	}
	model := porcupine.Model{
		Init: func() any { return registerState{} },
		Step: func(state, input, output any) (bool, any) {
			op := input.(registerOp)
			next, read := registerKinds[op.kind].model(state.(registerState), op)
			return read == output.(registerState), next
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %v", input, output) },
	}
	for range rounds {
		// The model begins with empty registers.
		s.update(func(tx kv.Tx) { tx.ClearRange(nil, []byte("\xff")) })
		history := record(t, s, rng, clients, each)
		switch porcupine.CheckOperationsTimeout(model, history, 30*time.Second) {
		case porcupine.Illegal:
			for _, op := range history {
				t.Logf("client %d, %d to %d: %s", op.ClientId, op.Call, op.Return,
					model.DescribeOperation(op.Input, op.Output))
			}
			t.Fatal("the history is not linearizable")
		case porcupine.Unknown:
			t.Log("the check of a history took too long")
		}
	}
}

// record runs random transactions of several clients at once.
func record(t testing.TB, s *store, rng *rand.Rand, clients, each int) []porcupine.Operation {
	history := make([]porcupine.Operation, clients*each)
	// A copy is here twice: it reads one register and writes another, and so is what a store with
	// too few conflicts gets wrong.
	kinds := []string{"read all", "write", "copy", "copy", "read all and write", "clear", "raise"}
	for i := range history {
		history[i].ClientId = i / each
		history[i].Input = registerOp{kinds[rng.IntN(len(kinds))], rng.IntN(registers), rng.IntN(registers), 100 + i}
	}
	// The clock is a counter: the checker only needs to know which calls and returns came before
	// others.
	var clock atomic.Int64
	together(clients, func(client int) {
		for i := client * each; i < (client+1)*each; i++ {
			op := history[i].Input.(registerOp)
			history[i].Call = clock.Add(1)
			history[i].Output = registerKinds[op.kind].run(t, s, op)
			history[i].Return = clock.Add(1)
		}
	})
	return history
}
