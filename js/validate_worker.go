package js

// runValidate is Pool.Validate: the digests of the design documents, the user, the security object,
// the documents. Chunks hold the answers, one for each document.
func runValidate(w *worker, payload []byte) ([]byte, error) {
	d := decoder{b: payload}
	functions := make([]*designFunction, d.count())
	refusals := make([][]byte, len(functions))
	for i := range functions {
		if len(d.b) < len(digest{}) {
			return nil, errFrame
		}
		key := digest(d.b[:len(digest{})])
		d.b = d.b[len(digest{}):]
		var err error
		if functions[i], refusals[i], err = w.design(key, []string{"validate_doc_update"}); err != nil {
			return nil, err
		}
	}
	user, security := d.bytes(), d.bytes()
	var e encoder
	for n := d.count(); n > 0 && d.err == nil; n-- {
		args := [][]byte{d.bytes(), d.bytes(), user, security}
		reply, err := validateOne(functions, refusals, args)
		if err != nil {
			return nil, err
		}
		e.bytes(reply)
		if w.due() {
			if err := w.chunk(e.b); err != nil {
				return nil, err
			}
			e.b = e.b[:0]
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	return nil, w.chunk(e.b)
}

// validateOne asks the functions in order; the first answer that refuses counts. Each gets values
// of its own: none can change what another one sees.
func validateOne(functions []*designFunction, refusals, args [][]byte) ([]byte, error) {
	for i, f := range functions {
		if f == nil {
			return refusals[i], nil
		}
		values, err := f.arguments(args)
		if err != nil {
			return nil, err
		}
		reply, err := f.run("validate", values...)
		if err != nil {
			return nil, err
		}
		if reply != nil && string(reply) != "1" && string(reply) != "true" {
			return reply, nil
		}
	}
	return nil, nil
}
