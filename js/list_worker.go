package js

import "github.com/dop251/goja"

// runList is Design.List: the digest, the name, the head of the rows and the request object. Chunks
// are messages of the function; an ask wants rows.
func runList(w *worker, payload []byte) ([]byte, error) {
	key, d, err := designPayload(payload)
	if err != nil {
		return nil, err
	}
	name, args := d.string(), [][]byte{d.bytes(), d.bytes()}
	if d.err != nil {
		return nil, d.err
	}
	f, refusal, err := w.design(key, []string{"lists", name})
	if err != nil || refusal != nil {
		return refusal, err
	}
	values, err := f.arguments(args)
	if err != nil {
		return nil, err
	}
	f.output.b, f.rows, f.ended, f.err = nil, nil, false, nil
	reply, err := f.run("lists", values...)
	if f.err == nil {
		f.flush()
	}
	if f.err != nil {
		return nil, f.err
	}
	return reply, err
}

// outputBuffer is how many bytes of messages a list gathers while it has rows.
const outputBuffer = 16 << 10

// nativeOutput takes a message of a list function.
func (f *designFunction) nativeOutput(c goja.FunctionCall) goja.Value {
	if text := cleanJSON(c.Argument(0)); string(text) != `["chunks",[]]` {
		f.output.bytes(text)
	}
	if f.err == nil && len(f.output.b) > outputBuffer {
		f.flush()
	}
	f.stopOn(f.err)
	return goja.Undefined()
}

// flush sends the messages gathered.
func (f *designFunction) flush() {
	if len(f.output.b) > 0 {
		f.err = f.w.chunk(f.output.b)
		f.output.b = f.output.b[:0]
	}
}

// nativeRow gives the next row of a list, undefined at the end.
func (f *designFunction) nativeRow(goja.FunctionCall) goja.Value {
	if len(f.rows) == 0 && !f.ended && f.err == nil {
		if f.flush(); f.err == nil {
			f.readRows()
		}
	}
	f.stopOn(f.err)
	if f.ended {
		return goja.Undefined()
	}
	row, err := f.parse(f.rows[0], false)
	f.rows = f.rows[1:]
	f.stopOn(err)
	return row
}

func (f *designFunction) readRows() {
	var answer []byte
	if answer, f.err = f.w.ask(nil); f.err == nil {
		d := decoder{b: answer}
		f.rows, f.err = d.list(), d.err
		f.ended = len(f.rows) == 0
	}
}

// stopOn ends the function: the conversation with the caller broke.
func (f *designFunction) stopOn(err error) {
	if err != nil {
		f.err = err
		panic(f.vm.NewGoError(err))
	}
}
