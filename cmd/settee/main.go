package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/views/js"
)

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
	root.AddCommand(serveCommand(), checkCommand(), salvageCommand(), migrateCommand(), backupCommand(),
		restoreCommand(), functionsCommand(), benchCommand(), versionCommand())
	return root
}
