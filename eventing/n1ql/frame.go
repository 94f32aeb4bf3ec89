package n1ql

import (
	"math"
	"sort"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// boundEdge is an end of a frame with its number.
type boundEdge struct {
	edge
	distance datum.Number
}

// isDistance reports whether a value may be the number of PRECEDING or FOLLOWING.
func isDistance(v *datum.Value, unit string) bool {
	_, whole := v.Int()
	return v.Kind == datum.KindNumber && v.Num.Sign() >= 0 && (whole || unit == "RANGE")
}

func wrongEdge(unit string) string {
	if unit == "RANGE" {
		return "the end of a RANGE is a number from 0 on"
	}
	return "the end of " + unit + " is an integer from 0 on"
}

// bindFrame evaluates the ends of the frame, if there is one.
func (c *windowCall) bindFrame() (err error) {
	if c.frame = c.over.frame; c.frame == nil {
		return nil
	}
	if c.from, err = c.bindEdge(c.frame.from); err == nil {
		c.to, err = c.bindEdge(c.frame.to)
	}
	return err
}

// bindEdge evaluates the number of an end.
func (c *windowCall) bindEdge(e edge) (b boundEdge, err error) {
	if b.edge = e; e.by == nil {
		return b, nil
	}
	v, err := e.by.eval(c.rows.run.env())
	if err == nil && !isDistance(&v, c.frame.unit) {
		err = invalidf("%s", wrongEdge(c.frame.unit))
	}
	b.distance = v.Num
	return b, err
}

// frameAt is the frame of a place in a partition: from one place up to another.
func (c *windowCall) frameAt(p *partition, at int) (from, to int) {
	n := len(p.rows)
	if c.frame == nil { // without a frame: up to the last peer, which is all rows without ORDER BY
		_, to := p.peers(at)
		return 0, to
	}
	from, _ = c.place(p, at, &c.from)
	_, to = c.place(p, at, &c.to)
	return min(max(from, 0), n), min(max(to, 0), n)
}

// place is where an end of a frame is: from is the place at which a frame begins with it, to the one
// before which a frame ends with it.
func (c *windowCall) place(p *partition, at int, e *boundEdge) (from, to int) {
	n := len(p.rows)
	if e.unbounded {
		return 0, n
	}
	steps, ok := e.distance.Int()
	if !ok || steps > int64(n) {
		steps = int64(n) // beyond all rows
	}
	moved := e.side * int(steps)
	switch c.frame.unit {
	case "ROWS":
		return at + moved, at + moved + 1
	case "GROUPS":
		group := min(max(p.groups[at]+moved, -1), len(p.starts)-1)
		if group < 0 {
			return 0, 0
		}
		return p.starts[group], p.starts[min(group+1, len(p.starts)-1)]
	}
	if e.side == 0 {
		return p.peers(at)
	}
	return c.inRange(p, at, e)
}

// inRange is place for RANGE with a number: the rows whose value in ORDER BY is so far away from that
// of a row. From what is unknown nothing is far away, and values of other types have no distance.
func (c *windowCall) inRange(p *partition, at int, e *boundEdge) (from, to int) {
	term, keys := &p.by[0], p.keys[0]
	target := keys[p.rows[at]]
	switch {
	case target.Kind == datum.KindNumber:
		op := "+"
		if (e.side < 0) != term.descending {
			op = "-"
		}
		target = datum.Calculate(op, &target.Num, &e.distance)
		if target.Unknown() { // it is beyond the doubles
			target = datum.Value{Kind: datum.KindNumber, Num: datum.Number{Double: math.Inf(1), IsFloat: true}}
			if op == "-" {
				target = datum.Negate(&target)
			}
		}
	case !target.Unknown():
		return len(p.rows), 0 // no frame
	}
	first := func(least int) int { // the first place whose value is at least so far
		return sort.Search(len(p.rows), func(i int) bool {
			return term.compare(&keys[p.rows[i]], &target) >= least
		})
	}
	return first(0), first(1)
}

// excluded reports whether EXCLUDE leaves out of the frame of one place another one, in which a row is.
func (c *windowCall) excluded(p *partition, at, place, row int) bool {
	if c.frame == nil || c.frame.exclude == "" {
		return false
	}
	current := row == p.rows[at]
	switch c.frame.exclude {
	case "CURRENT ROW":
		return current
	case "GROUP":
		return p.groups[place] == p.groups[at]
	}
	return p.groups[place] == p.groups[at] && !current // TIES
}
