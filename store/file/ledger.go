package file

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"

	"github.com/culm-dev/culm/store"
)

// The account of a stream's name stands in the stream's head, so that a step's spend
// costs no file of its own. All other accounts have a file.

// errAccountDamaged: an account outside of a stream belongs to none, so its damage
// names none.
var (
	errAccountDamaged = errors.New("the account's file is damaged: its checksum does not match")
	errKeyDamaged     = errors.New("the key's file is damaged: its checksum does not match")
)

func (e *ledgerEntry) encode() ([]byte, error) {
	if e.key != nil {
		return encodeSealed(newKeyFile(e.key))
	}
	return encodeSealed(account{Account: e.account.ID, Spent: e.account.Spent, Limits: e.account.Limits})
}

// readAccount reads an account's file, nil if there is none.
func (p paths) readAccount(id string) (*account, error) {
	raw, err := os.ReadFile(p.at(accountPath(id)))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read account: %w", err)
	}
	var a account
	if decodeSealed(raw, &a) != nil || a.Account != id {
		return nil, errAccountDamaged
	}
	return &a, nil
}

// adoptAccount moves the account of a new stream's name, if there is one, to the
// stream.
func (t *txn) adoptAccount(c *change) error {
	for _, list := range [2][]*ledgerEntry{t.mineLedger, t.ledger} {
		for _, e := range list {
			if e.account != nil && e.account.ID == c.name {
				// It is in this group: leave it in its file, where it is found too.
				return nil
			}
		}
	}
	a, err := t.w.s.paths.readAccount(c.name)
	if a == nil || err != nil {
		return err
	}
	c.head.Account = &account{Spent: a.Spent, Limits: a.Limits}
	c.dropAccount = true
	return nil
}

// spend books the spends of a batch, all or none.
func (t *txn) spend(spends []store.Spend) error {
	for i := range spends {
		if err := t.spendOne(&spends[i]); err != nil {
			var over *store.BudgetError
			if errors.As(err, &over) {
				return err
			}
			return fmt.Errorf("spend on account %s: %w", spends[i].Account, err)
		}
	}
	return nil
}

func (t *txn) spendOne(s *store.Spend) error {
	c, err := t.stream(s.Account)
	if err != nil {
		return err
	}
	a, err := t.account(c, s.Account)
	if err != nil {
		return err
	}
	if a == nil && s.Limits == nil {
		return store.ErrNotFound
	}
	booked := store.Account{ID: s.Account}
	inFile := c == nil
	if a != nil {
		booked.Spent, booked.Limits = maps.Clone(a.Spent), a.Limits
		inFile = inFile || c.head.Account == nil
	}
	if err := booked.Book(s); err != nil {
		return err
	}
	if inFile {
		t.mineLedger = append(t.mineLedger, &ledgerEntry{path: accountPath(s.Account), account: &booked})
		return nil
	}
	t.edit(c).head.Account = &account{Spent: booked.Spent, Limits: booked.Limits}
	return nil
}

// account is an account as the group so far leaves it, nil if there is none.
func (t *txn) account(c *change, id string) (*account, error) {
	if c != nil && c.head.Account != nil {
		return c.head.Account, nil
	}
	for _, list := range [2][]*ledgerEntry{t.mineLedger, t.ledger} {
		for i := len(list) - 1; i >= 0; i-- {
			if a := list[i].account; a != nil && a.ID == id {
				return &account{Spent: a.Spent, Limits: a.Limits}, nil
			}
		}
	}
	// Also that of a stream may be in a file: if it came in the stream's own commit.
	return t.w.s.paths.readAccount(id)
}

// Account implements [store.Store].
func (s *Store) Account(ctx context.Context, id string) (store.Account, error) {
	var found *account
	h, err := s.look(ctx, id, func(*head) error { return nil })
	switch {
	case err == nil && h.Account != nil:
		found = h.Account
	case err == nil || errors.Is(err, store.ErrNotFound):
		err = s.certain(ctx, func() (err error) {
			found, err = s.paths.readAccount(id)
			return err
		})
	}
	if err == nil && found == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Account{}, fmt.Errorf("read account %s: %w", id, err)
	}
	return found.export(id), nil
}

// takeKeys makes sure that the keys are free, and takes them.
func (t *txn) takeKeys(keys []store.KeyRecord) error {
	for i := range keys {
		k := &keys[i]
		found, err := t.key(k.Scope, k.Key)
		if err == nil && found != nil {
			err = &store.KeyTakenError{Record: *found}
		}
		if err != nil {
			return fmt.Errorf("take key %q: %w", k.Key, err)
		}
		t.mineLedger = append(t.mineLedger, &ledgerEntry{path: keyPath(k.Scope, k.Key), key: k})
	}
	return nil
}

// key looks a key up, as the group so far leaves it.
func (t *txn) key(scope, key string) (*store.KeyRecord, error) {
	path := keyPath(scope, key)
	for _, list := range [2][]*ledgerEntry{t.mineLedger, t.ledger} {
		for _, e := range list {
			if e.path == path {
				return e.key, nil
			}
		}
	}
	return t.w.s.paths.readKey(scope, key)
}

// readKey reads a key's file, nil if the key is free.
func (p paths) readKey(scope, key string) (*store.KeyRecord, error) {
	raw, err := os.ReadFile(p.at(keyPath(scope, key)))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	var k keyFile
	if decodeSealed(raw, &k) != nil || k.Scope != scope || k.Key != key {
		return nil, errKeyDamaged
	}
	record, err := k.record()
	if err != nil {
		return nil, errKeyDamaged
	}
	return record, nil
}

// Key implements [store.Store].
func (s *Store) Key(ctx context.Context, scope, key string) (store.KeyRecord, error) {
	var found *store.KeyRecord
	err := s.certain(ctx, func() (err error) {
		found, err = s.paths.readKey(scope, key)
		return err
	})
	if err == nil && found == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.KeyRecord{}, fmt.Errorf("read key %q: %w", key, err)
	}
	return *found, nil
}
