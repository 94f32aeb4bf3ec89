package n1ql

// memory is what a statement has of the memory that its keyspaces let it have. A nil one has no
// bound.
type memory struct {
	ask  func(bytes int) error // Keyspaces.Hold
	has  int                   // bytes that were asked for
	kept int                   // bytes that stay until the rows are closed
}

// memoryStep is how many bytes are asked for at least.
const memoryStep = 64 << 10

// keep adds to what is kept; what is less gives nothing back, but is there for what comes.
func (m *memory) keep(bytes int) error {
	if m == nil {
		return nil
	}
	m.kept += bytes
	return m.hold(0)
}

// hold asks for what the statement needs for so many bytes beside what it keeps.
func (m *memory) hold(bytes int) error {
	if m == nil || m.kept+bytes <= m.has {
		return nil
	}
	more := max(m.kept+bytes-m.has, memoryStep)
	err := m.ask(more)
	if err == nil {
		m.has += more
	}
	return err
}

// Room asks for what a value of so many bytes takes, before a function makes it.
func (e *env) Room(bytes int64) error {
	if bytes > maxHeld {
		return errTooMuch
	}
	return e.memory.hold(e.held + int(bytes))
}

// env is Query.env, with the memory of the run.
func (r *run) env() *env {
	e := r.Query.env(r.ctx)
	e.memory, e.work, e.outer, e.patterns = r.memory, r.work, r.outer, &r.work.patterns
	return e
}
