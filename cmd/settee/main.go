package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/views/js"
)

// version is set by the linker.
var version = "development"

func main() {
	js.RunWorkerIfAsked()
	if err := rootCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "settee:", err)
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
	root.AddCommand(serveCommand(), checkCommand(), migrateCommand(), backupCommand(), restoreCommand(), benchCommand(), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintf(cmd.OutOrStdout(), "settee %s (CouchDB %s, %s)\n", version, server.Version, runtime.Version())
		},
	}
}
