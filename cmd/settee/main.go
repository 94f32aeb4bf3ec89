package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/js"
)

// The runtime keeps what it samples of allocations by call stack until the process ends: a server
// that has been busy in many ways had 7 MB of such tables. A sample every 4 MB instead of every 512
// KB still shows where memory is.
func init() { runtime.MemProfileRate = 4 << 20 }

// main is a worker of JavaScript where the environment says so; that is why it asks before anything
// else.
func main() {
	js.RunWorkerIfAsked()
	if err := rootCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "settee:", err)
		if exit, ok := errors.AsType[*exitError](err); ok {
			os.Exit(exit.status)
		}
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "settee",
		Short:         "A CouchDB-compatible document database in one binary",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(serveCommand(), checkCommand(), salvageCommand(), migrateCommand(), compareCommand(),
		backupCommand(), restoreCommand(), functionsCommand(), nodesCommand(), topCommand(), doctorCommand(),
		upgradeCommand(), downgradeCommand(), versionCommand(), benchCommand())
	return root
}

// benchCommand says where the benchmark is, which was a command of this program once.
func benchCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "bench",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("the benchmark is a program of its own: make bench URL_A=… in settee's sources")
		},
	}
}
