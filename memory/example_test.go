package memory_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settee-db/settee/memory"
)

// Requests share a budget. One that does not fit waits for others to end, and is refused when that
// takes too long.
func Example() {
	budget := memory.NewBodies(1<<30, nil)
	budget.Resize(100 << 20)
	budget.Wait = time.Millisecond
	first, second := memory.NewShare(budget, "ann"), memory.NewShare(budget, "bob")
	ctx := context.Background()
	fmt.Println(first.Take(ctx, 70<<20))
	fmt.Println(errors.Is(second.Take(ctx, 50<<20), memory.ErrBusy))
	first.Release()
	fmt.Println(second.Take(ctx, 50<<20))
	second.Release()
	// Output:
	// <nil>
	// true
	// <nil>
}
