package engine

const (
	// keptHead is how much of the beginning of a call's output is never left out,
	// and keptTail how much of its end, when it is printed faster than it is kept.
	// In bytes, where a line counts for what it is in a log.
	keptHead = 1 << 20
	keptTail = 1 << 20
	// lineCost is what a line is in a log beside its text, in bytes.
	lineCost = 100
	// maxChunk is how large a piece may be that is left out as a whole.
	maxChunk = 16 << 10
)

// chunk is what was written to one stream at a stretch.
type chunk struct {
	to   *liveStream
	text []byte
	cost int
}

// liveQueue is what a call printed and nobody has taken yet: the beginning, and
// behind what was left out the end.
type liveQueue struct {
	printed int // the cost of what was ever put into head
	head    []chunk
	cut     int64 // bytes that were left out
	tail    []chunk
	waiting int // the cost of tail
}

// put adds what was written to a stream.
func (q *liveQueue) put(to *liveStream, p []byte) {
	for len(p) > 0 {
		piece := p[:min(len(p), maxChunk)]
		p = p[len(piece):]
		cost := costOf(piece)
		if q.printed < keptHead {
			q.printed += cost
			q.head = extend(q.head, to, piece, cost)
			continue
		}
		q.waiting += cost
		q.tail = extend(q.tail, to, piece, cost)
	}
	if q.waiting > 2*keptTail {
		q.leaveOut()
	}
}

// extend adds to the last chunk, or another one.
func extend(chunks []chunk, to *liveStream, piece []byte, cost int) []chunk {
	if n := len(chunks); n > 0 && chunks[n-1].to == to && len(chunks[n-1].text)+len(piece) <= maxChunk {
		chunks[n-1].text = append(chunks[n-1].text, piece...)
		chunks[n-1].cost += cost
		return chunks
	}
	return append(chunks, chunk{to: to, text: append([]byte(nil), piece...), cost: cost})
}

// leaveOut drops the older part of what waits behind the beginning: who prints so
// much is looked at for how it began, and how it ends.
func (q *liveQueue) leaveOut() {
	gone := 0
	for ; q.waiting > keptTail; gone++ {
		q.waiting -= q.tail[gone].cost
		q.cut += int64(len(q.tail[gone].text))
	}
	q.tail = append([]chunk(nil), q.tail[gone:]...)
}

// take empties the queue.
func (q *liveQueue) take() (head []chunk, cut int64, tail []chunk) {
	head, cut, tail = q.head, q.cut, q.tail
	q.head, q.cut, q.tail, q.waiting = nil, 0, nil, 0
	return head, cut, tail
}
