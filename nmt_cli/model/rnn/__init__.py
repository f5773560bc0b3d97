"""The recurrent encoder-decoder with attention; see nmt_cli.model.rnn.network."""
