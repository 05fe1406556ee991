"""Conversations whose last question means nothing alone, and where its answer stands.

Those on the public handbook name the file and a few words of the passage that answers; the documents
themselves are read from beside the checkout. Those on the staff guide bring their own text.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Conversation:
    """`asked` are the questions in order, the last one is the follow-up; a passage of `document` that holds
    `phrase` answers it."""

    asked: tuple[str, ...]
    document: str
    phrase: str


EXPENSES = "finance/expenses.md"
SHADOW = "ceo/shadow.md"
MEDDPPICC = "sales/meddppicc.md"
STRUCTURE = "company/structure.md"
PROMOTIONS = "people-group/promotions-transfers.md"
SLACK = "tools-and-tips/slack.md"
ACQUISITIONS = "acquisitions/acquisition-process/_index.md"

HANDBOOK = (
    Conversation(
        ("How far in advance should a domestic flight be booked?", "and international ones?"),
        EXPENSES,
        "International: At least 21 days",
    ),
    Conversation(
        ("What is the daily limit for meals while traveling on company business?", "And for the internet?"),
        EXPENSES,
        "Internet while traveling is reimbursable",
    ),
    Conversation(
        ("How much can a team member spend on a co-working space each month?", "What about books?"),
        EXPENSES,
        "Books are reimbursable if used",
    ),
    Conversation(
        ("Can I expense a hotel for a business trip?", "What if I stay with friends instead?"),
        EXPENSES,
        "stay with friends or family instead",
    ),
    Conversation(
        ("Can I rent a car on a business trip?", "Which class is allowed?"),
        EXPENSES,
        "up to the intermediate car class",
    ),
    Conversation(
        ("Is a rental car covered by GitLab's insurance?", "and in Mexico?"),
        EXPENSES,
        "purchase the liability insurance for Mexico",
    ),
    Conversation(
        ("What do I need to attach to an expense report?", "And if I lost it?"),
        EXPENSES,
        "Missing Receipt Affidavit will need to be completed",
    ),
    Conversation(
        ("Are books reimbursable?", "How about software?"),
        EXPENSES,
        "No software subscriptions are reimbursable",
    ),
    Conversation(
        ("What is the yearly limit for the VPN reimbursement?", "Can it be submitted in one claim?"),
        EXPENSES,
        "Yearly subscription can be submitted in one claim",
    ),
    Conversation(
        ("What does the CEO Shadow Program consist of?", "Who is eligible?"),
        SHADOW,
        "All GitLab team members are eligible to apply",
    ),
    Conversation(
        ("What is the CEO Shadow Program?", "How do I apply for it?"),
        SHADOW,
        "Create a merge request to add yourself",
    ),
    Conversation(
        ("What is the CEO Shadow Program?", "What should I wear?"),
        SHADOW,
        "business casual clothes are appropriate",
    ),
    Conversation(
        ("What is the CEO Shadow Program?", "How long is a rotation?", "And is childcare paid during it?"),
        SHADOW,
        "Childcare is provided during the active shadowing period",
    ),
    Conversation(
        ("What is the CEO Shadow Program?", "Do they attend his personal meetings?"),
        SHADOW,
        "Shadows do not attend personal",
    ),
    Conversation(
        ("What are the qualifying questions for the Economic Buyer in MEDDPPICC?", "and for the Champion?"),
        MEDDPPICC,
        "Who is your Champion?",
    ),
    Conversation(
        ("In MEDDPPICC, what does Metrics mean?", "What about Paper Process?"),
        MEDDPPICC,
        "the process by which the customer will document",
    ),
    Conversation(
        ("What are the qualifying questions for Metrics in MEDDPPICC?", "And for Competition?"),
        MEDDPPICC,
        "Who is our top competition in this opportunity?",
    ),
    Conversation(
        ("What is expected of the director group?", "and the S-group?"),
        STRUCTURE,
        "Members of the S-group are expected",
    ),
    Conversation(
        ("What is expected of members of the S-group?", "What about the E-group?"),
        STRUCTURE,
        "Members of the E-group are expected",
    ),
    Conversation(
        ("How many layers does the company have at most?", "Who is in the executive one?"),
        STRUCTURE,
        "The executive layer is structured as follows",
    ),
    Conversation(
        ("How do I transfer to a different department internally?", "When does it start?"),
        PROMOTIONS,
        "Up to 4 weeks is usually",
    ),
    Conversation(
        ("How are internal job vacancies announced?", "For how long are they posted?"),
        PROMOTIONS,
        "for at least 3 business days",
    ),
    Conversation(
        ("Who should have a job title specialty in Infrastructure?", "And in Customer Support?"),
        PROMOTIONS,
        "Job Grade 9 and below",
    ),
    Conversation(
        ("How do I set a status in Slack?", "And do not disturb hours?"),
        SLACK,
        "Do Not Disturb Hours",
    ),
    Conversation(
        ("Can a private channel in Slack be made public?", "Who can do that?"),
        SLACK,
        "Only Slack administrators can change",
    ),
    Conversation(
        ("How can I reduce noise in Slack?", "Can I schedule messages there?"),
        SLACK,
        "difficult to draw the line between home and work",
    ),
    Conversation(
        ("Are acquisitions at GitLab confidential?", "What about social media invites from them?"),
        ACQUISITIONS,
        "advised not to accept social media invites",
    ),
    Conversation(
        ("What are the stages of the acquisition process?", "What happens if one is terminated?"),
        ACQUISITIONS,
        "conduct a retrospective",
    ),
    Conversation(
        ("国内航班应该提前多少天预订？", "那么国际航班呢？"),
        EXPENSES,
        "International: At least 21 days",
    ),
    Conversation(
        ("出差期间每天的餐费报销上限是多少？", "那上网费呢？"),
        EXPENSES,
        "Internet while traveling is reimbursable",
    ),
    Conversation(
        ("什么是 CEO Shadow Program？", "它怎么申请？"),
        SHADOW,
        "Create a merge request to add yourself",
    ),
)

ASSESSMENT = "people-group/talent-assessment.md"
OKRS = "company/okrs/_index.md"
EMPLOYMENT = "legal/employment-law.md"

# Written when the rules for the ones above were settled, to see what they are worth elsewhere.
HELD_OUT = (
    Conversation(
        ("What does Developing mean for performance in the talent assessment?", "And Exceeding?"),
        ASSESSMENT,
        "Team members that are exceeding consistently surpass",
    ),
    Conversation(
        ("What is the Performance/Growth Potential Matrix?", "How long does it take to complete?"),
        ASSESSMENT,
        "typically takes 4-6 weeks",
    ),
    Conversation(
        ("How is Judgment assessed as a pillar of growth potential?", "What about Adaptability?"),
        ASSESSMENT,
        "adapt to change well",
    ),
    Conversation(
        ("What happens in a calibration session?", "Which topics should be avoided there?"),
        ASSESSMENT,
        "there are certain topics that should be",
    ),
    Conversation(
        ("How often is the formal talent assessment done?", "Who is eligible for that?"),
        ASSESSMENT,
        "Anyone hired on or before January 31st",
    ),
    Conversation(
        ("What are OKRs?", "How do we score them?"),
        OKRS,
        "We score individual KRs",
    ),
    Conversation(
        ("What are OKRs?", "Do they replace the core responsibilities?"),
        OKRS,
        "OKRs do not replace or supersede",
    ),
    Conversation(
        ("How do I work with the Legal Employment team?", "And if I receive court papers?"),
        EMPLOYMENT,
        "court papers, or other potential litigation",
    ),
    Conversation(
        ("How do I contact the Legal Employment team?", "Is there a table of who covers what?"),
        EMPLOYMENT,
        "A table showing coverage for queries",
    ),
    Conversation(
        ("How do I ask for a meeting with a member of the E-Group?", "What about interviews?"),
        "eba/_index.md",
        "24 hour working day SLA",
    ),
    Conversation(
        ("什么是 OKR？", "它们怎么评分？"),
        OKRS,
        "We score individual KRs",
    ),
)

# The last question has nothing to do with the ones before, and must be searched no worse for them.
SWITCHES = (
    Conversation(
        ("What is the CEO Shadow Program?", "And how do I set a status in Slack?"),
        SLACK,
        "allows you to set your [status]",
    ),
    Conversation(
        ("What does the E in MEDDPPICC stand for?", "Are books reimbursable?"),
        EXPENSES,
        "Books are reimbursable if used",
    ),
    Conversation(
        ("How are acquisitions kept confidential?", "What is the S-group?"),
        STRUCTURE,
        "Members of the S-group are expected",
    ),
    Conversation(
        ("What is expected of the director group?", "How much can I spend on a hotel per night?"),
        EXPENSES,
        "To be booked in Navan",
    ),
    Conversation(
        ("Who should have a job title specialty in Infrastructure?", "Is dry cleaning allowed?"),
        EXPENSES,
        "Dry cleaning is allowable",
    ),
    Conversation(
        ("How do I reduce noise in Slack?", "Can I expense a VPN subscription?"),
        EXPENSES,
        "Policy is set at $150 per year",
    ),
    Conversation(
        ("Are books reimbursable?", "What are slackbots?"),
        SLACK,
        "We have a few slackbots",
    ),
    Conversation(
        ("What is the CEO Shadow Program?", "How are mileage rates calculated?"),
        EXPENSES,
        "The mileage rate is based on",
    ),
    Conversation(
        ("What is Paper Process in MEDDPPICC?", "When are Slack profiles deleted?"),
        SLACK,
        "delete profiles that have been deactivated",
    ),
    Conversation(
        ("国内航班应该提前多少天预订？", "Slack 里怎么设置状态？"),
        SLACK,
        "allows you to set your [status]",
    ),
)

# Documents and conversations that need nothing from outside.
GUIDE = {
    "leave.md": """# Leave

## Annual leave

Permanent staff have 26 days of annual leave in a calendar year. It is requested in the staff portal, two
weeks ahead.

Contractors accrue no paid days off; their agency pays their holidays.

## Sick leave

Sick leave is reported by telephone before nine in the morning. A doctor's note is needed from the third day.
""",
    "travel.md": """# Travel

## Flights

Domestic flights are booked at least ten days ahead. Flights abroad are booked at least a month ahead.

## Hotels

A hotel may cost up to 140 euros a night. In Zurich and London the limit is 210 euros.

Team leads approve trips; above 3,000 euros the finance director approves them as well.
""",
    "office.md": """# The office

## Parking

Spaces are assigned each Monday by the reception desk. Visitors use the garage in Mill Street.

## Keys

A lost key is reported to the facility manager, Rosa Lindqvist. Its replacement costs 45 euros.
""",
    "support.md": """# Support plans

| Plan | First response | Price |
|---|---|---|
| Basic | two working days | 90 euros a month |
| Gold | four hours | 480 euros a month |

A plan is cancelled in writing, three months before the end of the year.
""",
    "保修.md": """# 保修

整机的保修期为二十四个月。电池的保修期为十二个月。人为损坏不在保修范围内。

申请保修需要购买发票和产品序列号，由客户服务部门在五个工作日内处理。
""",
}
GUIDED = (
    Conversation(("How many days of leave have permanent staff?", "And contractors?"), "leave.md", "no paid"),
    Conversation(
        ("How is annual leave requested?", "How many weeks ahead is that?"), "leave.md", "two\nweeks ahead"
    ),
    Conversation(("How do I report sick leave?", "When is a note needed for that?"), "leave.md", "third day"),
    Conversation(
        ("How far ahead are domestic flights booked?", "What about abroad?"), "travel.md", "a month ahead"
    ),
    Conversation(("How much may a hotel cost a night?", "and in Zurich?"), "travel.md", "210 euros"),
    Conversation(
        ("How much may a hotel cost a night?", "and in Zurich?", "Who approves it?"),
        "travel.md",
        "Team leads",
    ),
    Conversation(
        ("How are parking spaces assigned?", "And for visitors?"), "office.md", "garage in Mill Street"
    ),
    Conversation(("Who do I tell about a lost key?", "What does it cost?"), "office.md", "45 euros"),
    Conversation(
        ("What is the first response of the Basic plan?", "And of Gold?"), "support.md", "four hours"
    ),
    Conversation(("What is the price of the Gold plan?", "How is it cancelled?"), "support.md", "in writing"),
    Conversation(("整机的保修期是多久？", "那么电池呢？"), "保修.md", "十二个月"),
    Conversation(("怎么申请保修？", "它由谁处理？"), "保修.md", "客户服务部门"),
)
