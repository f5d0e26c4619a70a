package run

// ValueOf gives the value that an event carries: inline or as a blob. A run's
// first event carries two; ValueOf gives its arguments.
func ValueOf(ev Event) (Raw, *Blob) {
	switch b := ev.Body.(type) {
	case *Queued:
		return b.Args, b.ArgsBlob
	case *StepStarted:
		return b.Args, b.ArgsBlob
	case *StepCompleted:
		return b.Output, b.OutputBlob
	case *StepResolved:
		return b.Output, b.OutputBlob
	case *Decided:
		return b.Value, b.ValueBlob
	case *StepAdopted:
		return b.Output, b.OutputBlob
	case *NodeAdopted:
		return b.Value, b.ValueBlob
	case *Succeeded:
		return b.Output, b.OutputBlob
	}
	return nil, nil
}

// Fill puts the blobs that an event refers to in their values' place.
func Fill(ev *Event, read func(Blob) (Raw, error)) error {
	fill := func(raw *Raw, blob *Blob) error {
		if blob == nil || *raw != nil {
			return nil
		}
		v, err := read(*blob)
		*raw = v
		return err
	}
	switch b := ev.Body.(type) {
	case *Queued:
		if err := fill(&b.Bundle, b.BundleBlob); err != nil {
			return err
		}
		return fill(&b.Args, b.ArgsBlob)
	case *StepStarted:
		return fill(&b.Args, b.ArgsBlob)
	case *StepCompleted:
		return fill(&b.Output, b.OutputBlob)
	case *StepFailed:
		return fill(&b.Evidence, b.EvidenceBlob)
	case *StepResolved:
		return fill(&b.Output, b.OutputBlob)
	case *Decided:
		return fill(&b.Value, b.ValueBlob)
	case *StepAdopted:
		return fill(&b.Output, b.OutputBlob)
	case *NodeAdopted:
		return fill(&b.Value, b.ValueBlob)
	case *Succeeded:
		return fill(&b.Output, b.OutputBlob)
	}
	return nil
}
