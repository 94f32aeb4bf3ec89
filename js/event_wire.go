package js

import "time"

// encodeEvents appends the events of a batch, each with the writes that were refused when it ran
// before. decodeEvent reads one of them.
func encodeEvents(e *encoder, events []Event) {
	e.uint(uint64(len(events)))
	for i := range events {
		v := &events[i]
		e.uint(uint64(v.Kind))
		e.bytes(v.Meta)
		e.bytes(v.Doc)
		e.bytes(v.Options)
		e.string(v.Callback)
		e.bytes(v.Context)
		e.uint(uint64(max(0, v.Timeout)))
		e.uint(uint64(max(0, v.Now)))
		e.uint(uint64(len(v.Refusals)))
		for j := range v.Refusals {
			e.string(v.Refusals[j].Database)
			e.string(v.Refusals[j].ID)
			encodeEventError(e, &v.Refusals[j].Err)
		}
	}
}

func decodeEvent(d *decoder) Event {
	v := Event{
		Kind: EventKind(d.uint()), Meta: d.bytes(), Doc: d.bytes(), Options: d.bytes(), Callback: d.string(),
		Context: d.bytes(), Timeout: time.Duration(d.uint() &^ (1 << 63)), Now: int64(d.uint() &^ (1 << 63)),
	}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		v.Refusals = append(v.Refusals, EventRefusal{Database: d.string(), ID: d.string(), Err: decodeEventError(d)})
	}
	return v
}

func encodeEventError(e *encoder, err *EventError) {
	e.string(err.Class)
	e.uint(uint64(max(0, err.Code)))
	e.string(err.Name)
	e.string(err.Desc)
}

func decodeEventError(d *decoder) EventError {
	return EventError{Class: d.string(), Code: int(d.uint() & 0x7fffffff), Name: d.string(), Desc: d.string()}
}

// encodeEffects appends the effects of an invocation in their order. Each kind has only the
// members that it uses. A timer without a context differs from one whose context is empty, so a
// flag comes before it.
func encodeEffects(e *encoder, effects []EventEffect) {
	e.uint(uint64(len(effects)))
	for i := range effects {
		v := &effects[i]
		e.uint(uint64(v.Kind))
		switch v.Kind {
		case EffectSet:
			e.string(v.Database)
			e.string(v.ID)
			e.bytes(v.Body)
			e.uint(uint64(max(0, v.Expiry)))
			e.bool(v.SelfRecursion)
		case EffectDelete:
			e.string(v.Database)
			e.string(v.ID)
		case EffectCreateTimer, EffectPublish:
			e.string(v.Callback)
			e.string(v.Reference)
			e.uint(uint64(max(0, v.Due)))
			e.bool(v.Context != nil)
			e.bytes(v.Context)
		case EffectCancelTimer:
			e.string(v.Callback)
			e.string(v.Reference)
		}
	}
}

// decodeEffects reads what encodeEffects wrote. It runs in the server on what a worker sent: the
// number of effects is bounded, and memory is only reserved for the first 64 before they have been
// read.
func decodeEffects(d *decoder) []EventEffect {
	n := d.count()
	if n > maxEventEffects {
		d.fail()
	}
	if n == 0 || d.err != nil {
		return nil
	}
	effects := make([]EventEffect, 0, min(n, 64))
	for ; n > 0 && d.err == nil; n-- {
		effects = append(effects, decodeEffect(d))
	}
	return effects
}

// decodeEffect reads one effect. Times above what a JavaScript number holds exactly become the
// largest such number, so that they never turn negative.
func decodeEffect(d *decoder) EventEffect {
	const largestTime = 1<<53 - 1
	v := EventEffect{Kind: EventEffectKind(d.uint())}
	switch v.Kind {
	case EffectSet:
		v.Database, v.ID, v.Body = d.string(), d.string(), d.bytes()
		v.Expiry, v.SelfRecursion = int64(min(d.uint(), largestTime)), d.bool()
	case EffectDelete:
		v.Database, v.ID = d.string(), d.string()
	case EffectCreateTimer, EffectPublish:
		v.Callback, v.Reference, v.Due = d.string(), d.string(), int64(min(d.uint(), largestTime))
		if given, context := d.bool(), d.bytes(); given {
			v.Context = context
		}
	case EffectCancelTimer:
		v.Callback, v.Reference = d.string(), d.string()
	default:
		d.fail()
	}
	return v
}

// encodeEventResult appends the result of one invocation: its outcome, why it failed if it did,
// its effects, logs and counters, and what each line of the code called. Numbers that could be
// negative are written as 0, since the wire has unsigned numbers only.
func encodeEventResult(e *encoder, r *EventResult) {
	e.uint(uint64(r.Outcome))
	e.uint(uint64(r.Took))
	e.bool(r.Failure != nil)
	if f := r.Failure; f != nil {
		e.string(f.Name)
		e.string(f.Message)
		e.string(f.Stack)
		e.uint(uint64(max(0, f.Line)))
		e.uint(uint64(max(0, f.Column)))
		e.string(f.Handler)
	}
	encodeEffects(e, r.Effects)
	e.bytes(r.Answer)
	e.strings(r.Logs)
	e.uint(uint64(len(r.Counters)))
	for name, n := range r.Counters {
		e.string(name)
		e.uint(uint64(n))
	}
	e.uint(uint64(len(r.Lines)))
	for i := range r.Lines {
		l := &r.Lines[i]
		e.uint(uint64(l.Line))
		e.uint(uint64(l.Calls))
		e.uint(uint64(l.Took))
		e.uint(uint64(l.Errors))
		e.string(l.LastError)
		e.string(l.LastLog)
	}
}

// decodeEventResult reads one result. It takes no more than an invocation may give.
func decodeEventResult(d *decoder) *EventResult {
	const largest = 1<<62 - 1
	number := func() int64 { return int64(min(d.uint(), largest)) }
	r := &EventResult{Outcome: EventOutcome(d.uint()), Took: time.Duration(number())}
	if r.Outcome < EventDone || r.Outcome > EventTimedOut {
		d.fail()
	}
	if d.bool() {
		r.Failure = &EventFailure{
			Name: d.string(), Message: d.string(), Stack: d.string(),
			Line: int(number() & 0xffffff), Column: int(number() & 0xffffff), Handler: d.string(),
		}
	}
	r.Effects = decodeEffects(d)
	if r.Outcome != EventDone && len(r.Effects) > 0 {
		d.fail()
	}
	if r.Answer = d.bytes(); len(r.Answer) > MaxEventAnswer || r.Outcome != EventDone && len(r.Answer) > 0 {
		d.fail()
	}
	for n := boundedCount(d, logsPerCall); n > 0 && d.err == nil; n-- {
		r.Logs = append(r.Logs, d.string())
	}
	if n := boundedCount(d, 256); n > 0 {
		r.Counters = make(map[string]int64, n)
		for ; n > 0 && d.err == nil; n-- {
			name := d.string()
			r.Counters[name] = number()
		}
	}
	for n := boundedCount(d, maxEventLines); n > 0 && d.err == nil; n-- {
		r.Lines = append(r.Lines, EventLine{
			Line: int(number() & 0xffffff), Calls: number(), Took: time.Duration(number()), Errors: number(),
			LastError: d.string(), LastLog: d.string(),
		})
	}
	return r
}

// boundedCount reads the length of a list that has no more than most items.
func boundedCount(d *decoder, most int) int {
	n := d.count()
	if n > most {
		d.fail()
		return 0
	}
	return n
}

// boundedNumber reads a number below an end.
func boundedNumber(d *decoder, end int) int {
	n := d.uint()
	if n >= uint64(end) {
		d.fail()
		return 0
	}
	return int(n)
}

func encodePairs(e *encoder, pairs [][2]string) {
	e.uint(uint64(len(pairs)))
	for _, p := range pairs {
		e.string(p[0])
		e.string(p[1])
	}
}

func decodePairs(d *decoder) [][2]string {
	var pairs [][2]string
	for n := d.count(); n > 0 && d.err == nil; n-- {
		pairs = append(pairs, [2]string{d.string(), d.string()})
	}
	return pairs
}
