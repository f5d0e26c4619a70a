package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/culm-dev/culm/tool"
)

type payment struct {
	Customer string `json:"customer"`
	Amount   int    `json:"amount"`
}

// charge takes money: it writes a line into a ledger, each time that it is called.
func charge(ledger string) tool.Tool {
	return tool.MustFunc("charge", "Charges a customer.", tool.Write,
		func(_ context.Context, _ tool.Call, p payment) (string, error) {
			if p.Amount > 1000 {
				// A definite failure: nothing was done.
				return "", tool.Failed("rejected", false, "the limit is 1000")
			}
			receipt := fmt.Sprintf("%s %d", p.Customer, p.Amount)
			return receipt, appendLine(ledger, receipt) // any other error: nobody knows, and the step is in doubt
		})
}

type letter struct {
	To      string `json:"to"`
	Receipt string `json:"receipt"`
}

// mail sends a letter once, however often it is called with one idempotency key.
func mail(outbox string) tool.Tool {
	return tool.MustFunc("mail", "Thanks a customer.", tool.Idempotent,
		func(_ context.Context, call tool.Call, l letter) (string, error) {
			sent, err := os.ReadFile(outbox)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			if bytes.Contains(sent, []byte(call.IdempotencyKey)) {
				return "sent before", nil
			}
			return "sent", appendLine(outbox, fmt.Sprintf("%s %s %s", call.IdempotencyKey, l.To, l.Receipt))
		})
}

func appendLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}
