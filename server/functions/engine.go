package functions

import (
	"context"
	"encoding/json"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/eventing/debug"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/eventing/schedule"
	"github.com/settee-db/settee/js"
)

// Engine runs functions. The handlers begin a transition, such as deploying, in the registry; the
// engine ends it.
type Engine interface {
	// Compile looks whether a function could run. The error, if there is one, is mostly one of
	// CodeCompilation.
	Compile(ctx context.Context, f *definition.Function) (definition.Compiled, *definition.Error)
	// NextCalls are the schedules of a function, with when each calls its function next.
	NextCalls(ctx context.Context, r *registry.Record) ([]schedule.Upcoming, error)
	// Request has OnRequest answer a request of HTTP: eventing.Engine.
	Request(ctx context.Context, r *registry.Record, request []byte, readsOnly bool) (*js.EventResult, error)
	// Owners are the processes that have a share of a function: eventing.Engine.
	Owners(ctx context.Context, r *registry.Record) ([]nodes.ID, error)
	// Outbox tells how much a function has published that is not delivered yet, or could not be.
	Outbox(ctx context.Context, r *registry.Record) (outbox.Sizes, error)
	// DeadLetters lists messages that could not be delivered, behind an id and of one destination if it
	// is not empty; DeadLetter gives one, nil if there is none of that id.
	DeadLetters(ctx context.Context, r *registry.Record, behind, destination string, most int) (outbox.Letters, error)
	DeadLetter(ctx context.Context, r *registry.Record, id string) (*outbox.Letter, error)
	// ReplayDeadLetters has those of some ids, or of a destination, or all delivered again, and tells how
	// many; DeleteDeadLetters forgets them.
	ReplayDeadLetters(ctx context.Context, r *registry.Record, which outbox.Choice) (int, error)
	DeleteDeadLetters(ctx context.Context, r *registry.Record, which outbox.Choice) (int, error)
	// Nodes is how many processes run functions on this store, at least 1.
	Nodes(ctx context.Context) (int, error)
	// Stats are those of a function that is not undeployed, over all nodes.
	Stats(ctx context.Context, r *registry.Record, detail definition.Detail) (*definition.Stats, error)
	// Shares are how the partitions of a function that is not undeployed are divided.
	Shares(ctx context.Context, r *registry.Record) (definition.Shares, error)
	// ResetStats sets the counters of a function back to 0.
	ResetStats(ctx context.Context, r *registry.Record) error
	// AppLog is about the last size bytes of what a function has logged, newest line first; of all
	// nodes where aggregate says so.
	AppLog(ctx context.Context, r *registry.Record, aggregate bool, size int64) ([]byte, error)
	// Insight is what the lines of a function's code did; of all nodes where aggregate says so.
	Insight(ctx context.Context, r *registry.Record, aggregate bool) (*definition.Insight, error)
	// Test runs the handler on what request says, with the rights of who asks. Writes are shown in
	// the answer, which is JSON, and not applied.
	Test(ctx context.Context, f *definition.Function, who registry.Principal, request json.RawMessage) (
		json.RawMessage, *definition.Error)
	// StartDebugger begins a debug session of a deployed function, as the request says, which may be
	// empty. Debugging are the sessions that this process knows.
	StartDebugger(ctx context.Context, r *registry.Record, request []byte) *definition.Error
	Debugging() *debug.Sessions
}
