package main

import (
	"errors"
	"strconv"
	"time"
)

// layer1Block is a block of layer 1, as state.block and layer 1 have it.
type layer1Block struct {
	number uint64
	hash   string
}

// start compares the blocks of layer 1 in the state database with layer 1. Where they differ, as on a layer 1 with another history, it
// deletes them from there on. Without any the state counts as empty, and layer 1 must hold the creation of the rollup.
func (s *synchronizer) start() error {
	if !s.own.isOlder {
		log.info("L1BlockChecker: Forcing L1BlockChecker check before start")
		for {
			err := s.checkLayer1()
			if err == nil {
				break
			}
			log.warn("L1BlockChecker: error checking blocks. Error: %v", err)
			time.Sleep(time.Second)
		}
	}
	var blocks, batches uint64
	if err := s.state.QueryRow(`select (select count(*) from state.block), (select count(*) from state.batch)`).Scan(&blocks, &batches); err != nil || blocks > 0 {
		return err
	}
	log.info("State is empty, verifying genesis block")
	started := time.Now()
	if err := s.layer1.verifyGenesisBlock(); err != nil {
		log.failed("error checking genesis block number. Error: ", err)
		return err
	}
	s.metrics.observe("etherman_verify_genesisBlockNum_time", started)
	if batches == 0 {
		return nil
	}
	err := errors.New(`ERROR: duplicate key value violates unique constraint "batch_pkey" (SQLSTATE 23505)`)
	log.failed("error setting genesis: ", err)
	return err
}

// checkLayer1 resets the state to before the first block that layer 1 does not have.
func (s *synchronizer) checkLayer1() error {
	known, err := s.layer1Blocks()
	if err != nil {
		return err
	}
	for len(known) > 0 {
		part := known
		if len(part) > maxBlocksPerRequest {
			part = part[:maxBlocksPerRequest]
		}
		known = known[len(part):]
		found := make([]struct{ Hash string }, len(part))
		var questions []question
		for i, block := range part {
			questions = append(questions, question{"eth_getBlockByNumber", []any{quantity(block.number), false}, &found[i]})
		}
		if err := s.layer1.client.ask(questions...); err != nil {
			return err
		}
		for i, block := range part {
			if found[i].Hash == block.hash {
				continue
			}
			log.error("L1BlockChecker: main_checker:  Reorg detected at block %d l1Block.Hash=%s != stateBlock.Hash=%s. ", block.number, found[i].Hash, block.hash)
			return s.resetState(block.number - 1)
		}
	}
	log.info("L1BlockChecker: Forcing L1BlockChecker check:OK ")
	return nil
}

func (s *synchronizer) layer1Blocks() ([]layer1Block, error) {
	rows, err := s.state.Query(`select block_num, block_hash from state.block order by block_num`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var blocks []layer1Block
	for rows.Next() {
		var block layer1Block
		if err := rows.Scan(&block.number, &block.hash); err != nil {
			return nil, err
		}
		blocks = append(blocks, block)
	}
	return blocks, rows.Err()
}

func (s *synchronizer) resetState(number uint64) error {
	log.info("Reverting synchronization to block: %d", number)
	last := strconv.FormatUint(number, 10)
	_, err := s.state.Exec(`delete from state.verified_batch where block_num > ` + last + `;
		delete from state.virtual_batch where block_num > ` + last + `;
		delete from state.block where block_num > ` + last)
	return err
}
