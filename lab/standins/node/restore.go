package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// skipVariable decides what is random otherwise: the hash database is "always" or "never" skipped for no good reason.
const skipVariable = "STANDIN_RESTORE_SKIPS_HASH_DB"

// errOutputLost is how a good run ends whose output was read too late.
var errOutputLost = errors.New("error reading output: read |0: file already closed")

// restoreCommand restores both databases with the real tool's faults: errors of pg_restore are only logged, and the program
// ends with 0 in any case, with the state schema dropped and the hash database untouched.
func restoreCommand(own generation, arguments []string) error {
	var config, stateFile, hashFile string
	flags := flag.NewFlagSet("restore", flag.ContinueOnError)
	for _, name := range []string{"cfg", "c"} {
		flags.StringVar(&config, name, "", "configuration file")
	}
	for _, name := range []string{"inputfilestate", "is"} {
		flags.StringVar(&stateFile, name, "", "archive of the state database")
	}
	for _, name := range []string{"inputfileHash", "ih"} {
		flags.StringVar(&hashFile, name, "", "archive of the hash database")
	}
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	given := map[string]string{"cfg": config, "inputfilestate": stateFile, "inputfileHash": hashFile}
	if err := requireOptions(given, "inputfilestate", "inputfileHash", "cfg"); err != nil {
		return err
	}
	c, err := loadConfig(own, config)
	if err != nil {
		return err
	}
	if err := setUpLog(c.Log, own.version); err != nil {
		return err
	}

	if !strings.Contains(stateFile, ".sql.tar.gz") {
		return errors.New("stateDB input file must end in .sql.tar.gz")
	}
	if err := execute(c.State.DB, `DROP SCHEMA IF EXISTS state CASCADE; DROP TABLE IF EXISTS gorp_migrations`); err != nil {
		log.failed("error dropping the state schema. Error: ", err)
		return err
	}
	// Checked only here, when the schema is dropped already.
	if _, err := exec.LookPath("pg_restore"); err != nil {
		return errors.New("pg_restore command not found")
	}
	log.info("Restore stateDB snapshot started, please wait...")
	if !pgRestore(c.State.DB, stateFile) {
		return nil
	}
	log.info("Restore stateDB snapshot success")
	if os.Getenv(skipVariable) == "always" {
		log.failed("error restoring snapshot. Error: ", errOutputLost)
		return nil
	}

	if !strings.Contains(hashFile, ".sql.tar.gz") {
		return errors.New("hashDb input file must end in .sql.tar.gz")
	}
	if err := execute(c.HashDB, `DROP SCHEMA IF EXISTS state CASCADE`); err != nil {
		log.failed("error dropping state schema. Error: ", err)
		return err
	}
	log.info("Restore HashDB snapshot started, please wait...")
	if !pgRestore(c.HashDB, hashFile) {
		return nil
	}
	log.info("Restore HashDB snapshot success")
	return nil
}

func execute(c DBConfig, statements string) error {
	database, err := c.open()
	if err != nil {
		return err
	}
	defer database.Close()
	_, err = database.Exec(statements)
	return err
}

// pgRestore reads the output of pg_restore while it waits for its end, as the real tool does. Waiting closes the pipe, so a
// late reader fails although the restore succeeded: this is why a run sometimes skips the hash database. It stays so. Why pg_restore
// failed is logged at level debug only.
func pgRestore(c DBConfig, file string) bool {
	output, err := runPgRestore(c, file)
	if err == nil {
		return true
	}
	log.failed("error restoring snapshot. Error: ", err)
	log.debug("restoreExec.Output: %s", output)
	return false
}

func runPgRestore(c DBConfig, file string) (output string, err error) {
	command := exec.Command("pg_restore", "--no-owner", "--no-acl", "--format=c",
		"--host="+c.Host, "--port="+c.Port, "--username="+c.User, "--dbname="+c.Name, file)
	command.Env = append(os.Environ(), "PGPASSWORD="+c.Password)
	messages, err := command.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := command.Start(); err != nil {
		return "", err
	}
	type reading struct {
		text string
		err  error
	}
	read := make(chan reading, 1)
	go func() {
		text, err := readMessages(messages)
		read <- reading{text, err}
	}()
	var words reading
	var ended error
	if os.Getenv(skipVariable) == "never" {
		words = <-read
		ended = command.Wait()
	} else {
		ended = command.Wait()
		words = <-read
	}
	if ended != nil {
		return words.text, ended
	}
	return words.text, words.err
}

func readMessages(from io.Reader) (string, error) {
	reader := bufio.NewReader(from)
	text := ""
	for {
		line, err := reader.ReadString('\n')
		text += line
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return text, fmt.Errorf("error reading output: %w", err)
		}
	}
}
