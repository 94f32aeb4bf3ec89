package stats

import "github.com/settee-db/settee/js"

// javaScript are the statistics below couchdb.query_server and couchdb.mrview.
type javaScript struct {
	starts, spawns, errors, errorExits, exits, prompts, acquired, running *Counter
	mapped, emitted                                                       *Counter
	calls                                                                 map[string]javaScriptCalls // by command
	others                                                                javaScriptCalls
}

// javaScriptCalls are those of one kind of calls.
type javaScriptCalls struct{ count, time *Counter }

// workerCalls are CouchDB's names of the commands that workers get; a command without one counts as
// other.
var workerCalls = map[string]string{
	"check": "add_fun", "map": "map", "reduce": "reduce", "filter": "ddoc_filter", "validate": "ddoc_vdu",
	"design": "ddoc_other", "list": "ddoc_other",
}

// javaScript finds them.
func (s *Stats) javaScript() javaScript {
	const prefix = "couchdb.query_server."
	calls := func(name string) javaScriptCalls {
		return javaScriptCalls{count: s.counter(prefix + "calls." + name), time: s.counter(prefix + "time." + name)}
	}
	j := javaScript{
		starts:     s.counter(prefix + "process_starts"),
		spawns:     s.counter(prefix + "calls.spawn_proc"),
		errors:     s.counter(prefix + "process_errors"),
		errorExits: s.counter(prefix + "process_error_exits"),
		exits:      s.counter(prefix + "process_exits"),
		prompts:    s.counter(prefix + "process_prompts"),
		acquired:   s.counter(prefix + "acquired_processes"),
		running:    s.counter(prefix + "process_count"),
		mapped:     s.counter("couchdb.mrview.map_doc"),
		emitted:    s.counter("couchdb.mrview.emits"),
		calls:      make(map[string]javaScriptCalls, len(workerCalls)),
		others:     calls("other"),
	}
	for command, name := range workerCalls {
		j.calls[command] = calls(name)
	}
	return j
}

// TakeJavaScript sets the statistics below couchdb.query_server and couchdb.mrview to those of the
// pool.
func (s *Stats) TakeJavaScript(p *js.Pool) {
	if p == nil {
		return
	}
	pool := p.Stats()
	s.workers.starts.set(pool.Started)
	s.workers.spawns.set(pool.Started)
	s.workers.running.set(int64(pool.Running))
	s.workers.errors.set(pool.Killed)
	s.workers.errorExits.set(pool.Killed)
	s.workers.mapped.set(pool.Mapped)
	s.workers.emitted.set(pool.Emitted)
	s.workers.exits.set(pool.Started - pool.Killed - int64(pool.Running))
	all, sums := int64(0), make(map[javaScriptCalls]js.Calls)
	for command, calls := range pool.Calls {
		all += calls.Count
		of, named := s.workers.calls[command]
		if !named {
			of = s.workers.others
		}
		sum := sums[of] // two commands may share a name
		sum.Count += calls.Count
		sum.Took += calls.Took
		sums[of] = sum
	}
	s.workers.prompts.set(all)
	s.workers.acquired.set(all)
	for of, sum := range sums {
		of.count.set(sum.Count)
		of.time.set(sum.Took.Microseconds())
	}
}
