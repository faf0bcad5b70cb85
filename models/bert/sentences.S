// The text that was tokenized, for the console.
    .section .rodata.bert_sentences, "a"
    .globl bert_sentences
bert_sentences:
    .incbin "models/bert/sentences.txt"
    .globl bert_sentences_end
bert_sentences_end:
    .byte 0
