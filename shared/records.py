"""Where each kind of record is kept below its account (subcollections of `accounts/{account}`)."""

from __future__ import annotations

from shared.domain.accounts import Account, ApiKey, Department, Member
from shared.domain.agents import Agent, AgentAdoption, Space
from shared.domain.conversation import Message, Run, Thread
from shared.domain.knowledge import ContentClaim, Document, KnowledgeBase, NameClaim, Receipt, Record
from shared.domain.paid import Paid
from shared.domain.text import Outline, StoredChunk
from shared.domain.usage import PendingUsage, UsageShard
from shared.ports import Kind

ACCOUNT = Kind("", Account)  # the account's own record
DEPARTMENTS = Kind("departments", Department)
API_KEYS = Kind("api_keys", ApiKey)
MEMBERS = Kind("members", Member)
KNOWLEDGE_BASES = Kind("knowledge_bases", KnowledgeBase)
KNOWLEDGE_BASE_NAMES = Kind("knowledge_base_names", NameClaim)
DOCUMENTS = Kind("documents", Document)
CONTENTS = Kind("contents", ContentClaim)
RECORDS = Kind("records", Record)
CHUNKS = Kind("chunks", StoredChunk)
OUTLINES = Kind("outlines", Outline)
PAID = Kind("paid", Paid)
RECEIPTS = Kind("receipts", Receipt)
AGENTS = Kind("agents", Agent)
AGENT_ADOPTIONS = Kind("agent_adoptions", AgentAdoption)  # of agents that the platform published
SPACES = Kind("spaces", Space)
THREADS = Kind("threads", Thread)
MESSAGES = Kind("messages", Message)  # below its thread
RUNS = Kind("runs", Run)
USAGE = Kind("usage", UsageShard)
PENDING_USAGE = Kind("pending_usage", PendingUsage)
